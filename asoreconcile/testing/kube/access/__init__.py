"""Who is asking, what for, and whether he may: tokens, attributes, RBAC, reviews."""
