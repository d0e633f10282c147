"""A test kit for extensions of Azure kinds."""
