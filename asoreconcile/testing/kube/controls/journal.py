"""The journal of requests: one entry for each answered request."""

import attrs

from asoreconcile.testing.http import HttpRequest
from asoreconcile.testing.kube.access.attributes import attributes_of


@attrs.frozen
class Served:
    """One answered request. A request whose connection was cut has no entry.

    verb, resource, namespace, name: attributes as for authorization (`patch`,
    `widgets.example.com/status`).
    user: "" for an unknown user.
    """

    method: str
    path: str
    status: int
    user_agent: str
    verb: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    user: str = ""


def entry(request: HttpRequest, *, status: int, user: str) -> Served:
    """Return the journal's entry for a request that was answered with
    `status`. Pure.
    """
    about = attributes_of(request)
    return Served(
        method=request.method,
        path=request.path,
        status=status,
        user_agent=request.headers.get("user-agent", ""),
        verb=about.verb,
        resource=about.full_resource,
        namespace=about.namespace,
        name=about.name,
        user=user,
    )
