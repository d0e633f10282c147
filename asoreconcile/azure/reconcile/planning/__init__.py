"""For the commands."""
