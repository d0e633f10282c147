"""State in the memory of one process, which a restart loses."""
