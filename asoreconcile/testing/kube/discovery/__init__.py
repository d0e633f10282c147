"""What the server says of itself: groups, resources, OpenAPI."""
