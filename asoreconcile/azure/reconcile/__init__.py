"""The generic ARM reconciler: one flow for every kind, decided purely, executed apart.

    facts -> decide -> Decision(effects, then) -> execute -> facts -> ... -> an ending

What may be decided is in `decisions`, a closed set of values. `plan` makes the first
decision of a reconcile; `claim`, `begin`, `operation_polls`, `success`, `delete`,
`drift` and `failure_report` the others: pure functions, which a contract on imports
keeps so. `execute` goes from one to the next; `actions` asks Azure, the cluster and
extensions, `effects` notes, shows and tells. Modules called `.._reads` collect facts.
`patch_helper` writes to Kubernetes; `reconciler` ties them together.
"""
