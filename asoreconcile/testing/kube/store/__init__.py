"""The stored objects, the stream of their changes, and the data folder."""
