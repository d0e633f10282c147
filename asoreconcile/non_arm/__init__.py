"""Kinds that stand for no ARM resource: what their reconciles have in common.

`reconciler` does all that is the same for each of them (whose the object is, its
finalizer, owner, policy, conditions, events, back-off); an `ExternalResource` does the
rest. `plan` decides, and does nothing.
"""
