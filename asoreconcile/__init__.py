"""A controller runtime for Python, and an Azure operator built on it."""
