"""A CustomResourceDefinition as it is written: its shape, schemas and conditions."""
