"""Reads: get, list and watch, selectors, pages, Tables."""
