"""The generic ARM reconciler: one flow for every kind, decided purely, executed apart.

`plan` decides what a reconcile does; `claim`, `begin`, `monitor`, `success` and
`delete` are the steps that do it; `patch_helper` writes to Kubernetes; `reconciler`
ties them together.
"""
