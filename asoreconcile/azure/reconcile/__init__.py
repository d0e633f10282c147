"""The generic ARM reconciler: one flow for every kind (see `README.md`).

`engine.plan` decides the step of a reconcile, and each step is one call. Decisions that
have alternatives are values that pure functions make: the plan, whether a sync PUTs
(`sync.drift`), and what follows a poll (`writes.operation_polls`); a contract on
imports keeps them pure.
"""
