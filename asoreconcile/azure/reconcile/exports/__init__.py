"""Exports to Secrets and ConfigMaps."""
