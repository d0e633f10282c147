"""What one reconcile works with."""
