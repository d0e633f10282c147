"""Expressions in CEL: values computed from an object and its secrets.

`api` is what the rest of the project sees: an expression compiled once for a kind
version, evaluated often. The CEL library is known to `engine` and `environment` only;
they run in a process of their own, whose time and memory are bounded.
"""
