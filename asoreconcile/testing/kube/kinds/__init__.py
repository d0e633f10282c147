"""The resources that exist now, built in or from a CRD.

This covers the target of a path, the versions of an object, and the own rules of
built-in kinds.
"""
