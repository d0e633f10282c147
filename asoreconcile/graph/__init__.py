"""Microsoft Graph: Entra's security groups, read and written one request at a time.

`client` sends through ARM's pipeline with tokens of Graph's own audience, `cloud` says
which host is Graph of which cloud, `metrics` counts. What is done with groups is
`asoreconcile.entra`'s.
"""

from asoreconcile import extras

extras.need("azure", "asoreconcile.graph")
