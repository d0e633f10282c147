"""Authentication and authorization: tokens, attributes of requests, RBAC, reviews."""
