"""Kinds without an ARM resource: the shared part of their reconciles.

`reconciler` does everything that they share (operator namespace, finalizer, owner,
policy, conditions, events, back-off); an `ExternalResource` does the rest. `plan` only
decides.
"""
