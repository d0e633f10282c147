"""Diagnose an installation: checks of a cluster and of the sign-in to Azure.

`checks` decide, from objects alone; `examination` reads the objects and runs the
checks. `asoctl doctor` shows the findings.
"""
