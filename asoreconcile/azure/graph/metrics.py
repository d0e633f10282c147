"""Count requests to Microsoft Graph in the metrics of requests to Azure.

The label `resource` is `Microsoft.Graph/` and the collection; of a group's members
and owners `.../groups/members` and `.../groups/owners`.
"""

import re

from asoreconcile.azure.arm.metrics import ArmMetrics

_PATH = re.compile(
    r"/(?:v1\.0|beta)/(groups|applications|servicePrincipals)"
    r"(?:\([^/]*\))?(?:/[^/]+(?:/(members|owners))?)?"
)


class GraphMetrics:
    """`arm.metrics.AzureRequestMetrics` on top of ARM's families. Thread-safe."""

    def __init__(self, families: ArmMetrics) -> None:
        self._families = families

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a response under the type of its path, such as groups."""
        self._families.count_answer(resource_label(path), method, status, seconds)

    def unanswered(self, method: str, path: str, seconds: float) -> None:
        """Count a request without a response under the type of its path."""
        self._families.count_failure(resource_label(path), method, seconds)


def resource_label(path: str) -> str:
    """Return the type of a request's path, without names or ids."""
    found = _PATH.match(path)
    names = [name for name in found.groups() if name] if found else []
    return "/".join(["Microsoft.Graph", *names])
