"""Writes of CustomResourceDefinitions: their structure, schemas and conditions."""
