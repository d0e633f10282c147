"""What is wrong with an installation: checks over a cluster and Azure's sign-in.

`checks` decide, from objects alone; `examination` reads what they need and runs them.
`asoctl doctor` shows the findings.
"""
