"""The policies of the reconcile, one module each, and their order (`order`)."""
