"""The state of one reconcile, and its writes to Kubernetes."""
