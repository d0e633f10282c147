"""One document: its schema and defaults, its patches, and the owners of its fields.

The functions are pure. They never read stored objects.
"""
