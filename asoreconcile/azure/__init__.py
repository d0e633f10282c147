"""The generic ARM reconciler: one flow for every kind, decided purely, executed apart.

`plan` decides what a pass does; `claim`, `begin`, `monitor`, `success` and `delete` are
the steps that do it; `session` writes to Kubernetes; `reconciler` ties them together.
"""
