"""The gate: programs that run the tests, judge their results and print them.

`second_chance`, `results` and `compiled` are pytest plugins; `stages` runs the stages
of `hack/ci`. The programs in `hack/` are thin faces of this package. The package
lies next to them and not in `tests/`: no test imports it but its own, in `tests/gate`.
"""
