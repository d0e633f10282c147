"""Azure Resource Manager: one request a step, and what its answer means.

The pure half: `ids`, `endpoint` (whose URLs get the token), `answers`, `envelopes` and
`faults` (errors and their classes), `delays`, `tokens` (the resume token), `outcomes`,
`beginning` and `polling` (the state machine of long-running operations).
The other half: `credentials`, `bearer`, `transport`, `budget`, `registration`,
`metrics`, `correlation`, and `client`, which puts them together.
"""
