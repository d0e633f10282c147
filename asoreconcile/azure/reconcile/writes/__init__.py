"""Writes to Azure."""
