"""The label of requests to Microsoft Graph in the metrics of requests to Azure.

The label `resource` is `Microsoft.Graph/` and the collection. For a group's members and
owners it is `.../groups/members` and `.../groups/owners`.
"""

import re

_PATH = re.compile(
    r"/(?:v1\.0|beta)/(groups|applications|servicePrincipals)"
    r"(?:\([^/]*\))?(?:/[^/]+(?:/(members|owners))?)?"
)


def resource_label(path: str) -> str:
    """Return the type of a request's path, without names or ids."""
    found = _PATH.match(path)
    names = [name for name in found.groups() if name] if found else []
    return "/".join(["Microsoft.Graph", *names])
