"""From the client to the store: every write, and what comes of a deletion.

A body is matched with its URL, taken in, its fields given owners, admitted, stored.
"""
