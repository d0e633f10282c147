"""The generic ARM reconciler: one flow for every kind (see `README.md`).

`engine.plan` decides the step of a reconcile, and each step is one call. The plan, and
the decision whether a sync PUTs (`sync.drift`), are values that pure functions make; a
contract on imports keeps them pure.
"""
