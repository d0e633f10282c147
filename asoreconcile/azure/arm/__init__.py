"""The Azure Resource Manager (ARM) client: sends one request per step, and interprets
the response.

The pure modules: `ids`, `endpoint` (which URLs get the token), `response`,
`error_body`, `errors` and `classification` (what errors mean), `delays`, `tokens` (the
resume token), `outcomes`, `lro_start`, `polling` and `provisioning_state` (the state
machine of long-running operations), `paging` (lists), `token_bucket`.

The others: `credentials` and its kinds, `bearer`, `transport`, `pipeline`, `budget`,
`registration`, `metrics`, `correlation`; and `client`, which combines them.
"""

from asoreconcile.base import extras

extras.require_extra("azure", "asoreconcile.azure.arm")
