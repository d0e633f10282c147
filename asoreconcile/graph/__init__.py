"""Microsoft Graph: Entra's security groups, read and written one request at a time.

`client` sends through ARM's pipeline with tokens of Graph's own audience, `cloud` has
Graph's host in each cloud, `metrics` counts. `asoreconcile.entra` reconciles the
groups.
"""

from asoreconcile import extras

extras.need("azure", "asoreconcile.graph")
