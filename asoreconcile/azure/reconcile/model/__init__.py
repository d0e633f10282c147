"""Values of a reconcile, and rules as pure functions."""
