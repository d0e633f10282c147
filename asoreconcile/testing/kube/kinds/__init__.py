"""The resources there are at this moment, built in or by a CRD.

What a path is about, the versions of an object, the own rules of built-in kinds.
"""
