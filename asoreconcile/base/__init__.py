"""Shared foundations of the library: errors, objects, clock, threads, JSON, TLS."""
