"""Microsoft Graph: Entra's security groups, read and written one request at a time.

`client` sends through ARM's pipeline with tokens of Graph's own audience, `cloud` has
Graph's host in each cloud, `metrics` counts. `asoreconcile.azure.entra` reconciles the
groups.
"""

from asoreconcile.base import extras

extras.need("azure", "asoreconcile.azure.graph")
