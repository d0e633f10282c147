"""Metrics, by the names of controller-runtime."""
