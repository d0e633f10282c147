"""Writes to Azure: PUT, DELETE, polls of operations, and the end of a reconcile."""
