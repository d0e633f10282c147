"""The extensions for Azure's special cases, by kind. `registry` finds them, the README
describes them.
"""
