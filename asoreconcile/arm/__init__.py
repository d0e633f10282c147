"""Azure Resource Manager: one request a step, and what its answer means.

The pure half: `ids`, `endpoint` (whose URLs get the token), `answers`, `envelopes`,
`faults` and `classification` (errors and what they mean), `delays`, `tokens` (the
resume token), `outcomes`, `beginning`, `polling` and `states` (the state machine of
long-running operations), `paging` (lists), `gates` (token buckets).
The other half: `credentials` and its kinds, `bearer`, `transport`, `timed`, `exchange`,
`budget`, `open_operations`, `pacing`, `registration`, `metrics`, `correlation`; and
`client`, which puts them together, with `lists` on top.
"""
