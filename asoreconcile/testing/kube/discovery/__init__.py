"""Discovery: groups, resources, OpenAPI, health."""
