"""Which Azure resource an object is."""
