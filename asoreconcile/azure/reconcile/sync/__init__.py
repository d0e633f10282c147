"""Reads and drift."""
