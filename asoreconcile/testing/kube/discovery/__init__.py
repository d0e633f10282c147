"""What the server tells of itself: groups, resources, OpenAPI."""
