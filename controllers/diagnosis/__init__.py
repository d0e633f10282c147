"""Diagnose an installation: checks of a cluster and of the sign-in to Azure.

`checks` decide, from objects alone; `installation` reads the objects, and `examination`
runs the checks. `asoctl doctor` shows the findings.
"""
