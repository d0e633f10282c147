"""Admission: webhooks and policies that see a write before it is stored."""
