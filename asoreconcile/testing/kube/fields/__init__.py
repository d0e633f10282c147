"""One document: its schema and defaults, its patches, and which manager owns what.

Pure functions of what they are given; what is stored is never looked at.
"""
