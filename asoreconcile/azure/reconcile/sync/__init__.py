"""Reads of a resource, and the decision whether it has drifted."""
