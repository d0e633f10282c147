"""Values and pure rules."""
