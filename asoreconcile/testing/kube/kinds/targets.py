"""The target of a path: a collection, an object, or a subresource. Pure."""

import attrs

from asoreconcile.base.objects import ObjectKey
from asoreconcile.testing.kube.kinds.resources import (
    BUILT_IN,
    NAMESPACES,
    RestMapper,
    RestResource,
)
from asoreconcile.testing.kube.wire.status import (
    PageNotFoundError,
    StatusError,
    bad_request,
    not_found,
    unknown_path,
)


@attrs.frozen
class RequestTarget:
    """The target of a request.

    name: "" for a collection.
    namespace: "" for all namespaces, or for a cluster-scoped kind.
    """

    resource: RestResource
    namespace: str
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> ObjectKey:
        """Return namespace and name of the object; for a collection, the
        name is empty.
        """
        return ObjectKey(self.namespace, self.name)


def target_of(kinds: RestMapper, path: str) -> RequestTarget:
    """Return the target of a request's path. Raises StatusError 400 and 404."""
    if "//" in path:
        raise unknown_path()
    match [part for part in path.split("/") if part]:
        case ["api", version, *rest] if rest:
            group = ""
        case ["apis", group, version, *rest] if rest:
            pass
        case _:
            raise PageNotFoundError
    namespace = ""
    if rest[0] == NAMESPACES.plural and len(rest) >= 3:
        inside = kinds.find(group, version, rest[2])
        if inside is not None and inside.namespaced:
            namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:
        raise _unknown(group)
    plural, name, subresource = [*rest, "", ""][:3]
    resource = kinds.find(group, version, plural)
    if resource is None or (name and resource.namespaced and not namespace):
        raise _unknown(group)
    if subresource and subresource not in resource.subresources:
        if resource.is_custom:
            raise not_found(resource.plural, resource.group, name)
        raise unknown_path()
    if name in (".", ".."):
        raise bad_request(f"Name parameter invalid: \"{name}\": may not be '{name}'")
    return RequestTarget(resource, namespace, name, subresource)


def _unknown(group: str) -> StatusError:
    """Return the error for an unknown path, which differs between built-in and other
    groups.
    """
    is_built_in = any(resource.group == group for resource in BUILT_IN)
    return unknown_path() if is_built_in else PageNotFoundError()
