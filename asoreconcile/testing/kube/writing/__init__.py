"""Writes: every verb that changes objects, and the consequences of deletions.

A body is compared with its URL, decoded, given field owners, admitted, and stored.
"""
