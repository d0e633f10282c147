"""The memory of one process."""
