"""What a path is about: a resource's collection, one object, or a part of one. Pure."""

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
    """name "": the collection. namespace "": all of them, or the kind has none."""

    resource: RestResource
    namespace: str
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> ObjectKey:
        """Namespace and name of the one object; of a collection, with an empty name."""
        return ObjectKey(self.namespace, self.name)


def target_of(kinds: RestMapper, path: str) -> RequestTarget:
    """The target of a request's path. Raises StatusError 400 and 404."""
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
    """Built-in groups answer for all their paths, others only for their kinds."""
    is_built_in = any(resource.group == group for resource in BUILT_IN)
    return unknown_path() if is_built_in else PageNotFoundError()
