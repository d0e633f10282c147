"""CEL expressions: values computed from an object and its secrets.

The rest of the project uses `api`: an expression is compiled once for a kind version
and evaluated often. Only `engine` and `environment` use the CEL library; they run in a
process of their own with limited time and memory.
"""
