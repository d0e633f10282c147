"""The reconcile of one object: plan, run the step, write the status."""
