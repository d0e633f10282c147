"""Kinds without ARM: the parts that their reconciles have in common.

`reconciler` does everything that is the same for each of them (claim, finalizer, owner,
policy, conditions, events, back-off); an `ExternalResource` does the rest.
"""
