"""The Microsoft Graph client: reads and writes Entra's security groups, with one
request per call.

`client` sends through ARM's pipeline with tokens for Graph's audience, `cloud` finds
Graph's host for each cloud, `metrics` counts. `asoreconcile.azure.entra` uses it.
"""

from asoreconcile.base import extras

extras.require_extra("azure", "asoreconcile.azure.graph")
