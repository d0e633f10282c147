"""The attributes of a request, read only from its method, path and query. Pure.

They are the attributes that the API server passes to authorizers and to flow control:
verb, resource and name, or a path that belongs to no resource.
"""

from collections.abc import Mapping

import attrs

from asoreconcile.testing.http import HttpRequest

_FALSE = ("0", "false")

_VERBS = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_BY_NAME = "metadata.name="
_OF_NAMESPACES = ("status", "finalize")


@attrs.frozen
class Attributes:
    """The attributes of a request.

    verb: verb of the API (`list`, `deletecollection`); for a path that belongs to no
    resource, the method in lower case.
    resource: "" for such a path.
    """

    verb: str
    path: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def full_resource(self) -> str:
        """Return `widgets.example.com/status`, as faults name it."""
        text = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{text}/{self.subresource}" if self.subresource else text


def attributes_of(request: HttpRequest) -> Attributes:
    """Return the attributes of a request. Nothing is looked up, so the target may not
    exist.
    """
    match [part for part in request.path.split("/") if part]:
        case ["api", version, first, *rest]:
            group = ""
        case ["apis", group, version, first, *rest]:
            pass
        case _:
            return Attributes(request.method.lower(), request.path)
    namespace = ""
    parts = [first, *rest]
    if first == "namespaces" and rest:
        namespace = rest[0]
        if len(rest) > 1 and rest[1] not in _OF_NAMESPACES:
            parts = rest[1:]
    resource, name, subresource = [*parts, "", "", ""][:3]
    verb = _VERBS.get(request.method, request.method.lower())
    if not name and verb == "get":
        verb = "watch" if flag(request, "watch") else "list"
        selector = request.query.get("fieldSelector", "")
        if selector.startswith(_BY_NAME) and "," not in selector:
            name = selector.removeprefix(_BY_NAME)
    elif not name and verb == "delete":
        verb = "deletecollection"
    return Attributes(
        verb,
        request.path,
        group=group,
        version=version,
        resource=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
    )


def flag(request: HttpRequest, name: str) -> bool:
    """Return a boolean parameter as the API server reads it: true for anything but
    "no".
    """
    value = request.query.get(name)
    return value is not None and value.lower() not in ("0", "false")


def is_true(query: Mapping[str, str], name: str) -> bool:
    """Return a query's boolean: false for `0` and `false`, otherwise true."""
    return name in query and query[name].lower() not in _FALSE
