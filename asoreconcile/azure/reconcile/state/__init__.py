"""What the process remembers."""
