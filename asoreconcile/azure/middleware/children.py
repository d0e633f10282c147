"""Keep embedded children, which a PUT of the parent without them would delete.

Subnets, routes and similar children are resources of their own, but a PUT of the parent
replaces them as well. So the parent's PUT includes the children that Azure has.
"""

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.middleware.declared import names_at
from asoreconcile.azure.middleware.extension_points import Middleware, named
from asoreconcile.azure.middleware.requests import ModifyPayload
from asoreconcile.base.objects import JsonObject, dig

# The writable part of an object: property -> its own shape, or True for anything.
ChildShape = Mapping[str, "ChildShape | bool"]


class ChildMerge(Enum):
    """The rule by which Azure's children and those of the spec are combined."""

    REPLACE = auto()  # Azure's, as the parent's spec cannot name any
    # The spec's, then Azure's whose name the spec lacks; not those that this object has
    # declared before.
    MERGE_BY_NAME = auto()


def keep_children(
    path: str,
    *,
    shapes: Mapping[str, ChildShape],
    rule: ChildMerge,
    parent_may_be_absent: bool = False,
) -> Middleware[ModifyPayload, JsonObject]:
    """Return an extension that adds Azure's children to the parent's PUT.

    path: path of the child list, from the root of the ARM body.
    shapes: writable parts of a child by api-version; for a version in between, the
    older one counts.
    rule: see `ChildMerge`.
    parent_may_be_absent: if true, Azure omits the object around the list if the list is
    empty.

    The extension makes one GET at the object's own api-version, shared with the other
    links of the reconcile. A resource that does not exist yet (404) has no children; if
    it was there before, the PUT waits until its absence is confirmed
    (`ReconcileContext.require_absence`).
    Children that are being deleted are left out, because the PUT would restore them.
    The PUT is sent only while Azure has the state that was read
    (`ReconcileContext.require_unchanged`). Raises ConditionError if Azure's response
    lacks the list, because a PUT might then delete children.
    """

    def modify(
        req: ModifyPayload, call_next: Callable[[ModifyPayload], JsonObject], /
    ) -> JsonObject:
        payload = call_next(req)
        if rule is ChildMerge.MERGE_BY_NAME:
            req.ctx.declared.declare(path, names_at(payload, path))
        current = req.ctx.raw_get()
        if current is None:
            req.ctx.require_absence()
            return payload
        req.ctx.require_unchanged()
        children = _children(current, path, parent_may_be_absent=parent_may_be_absent)
        shape = _shape_at(shapes, req.ctx.version.api_version)
        kept = [writable(child, shape) for child in children if not _is_leaving(child)]
        if rule is ChildMerge.MERGE_BY_NAME:
            declared = req.ctx.declared
            foreign = [
                child
                for child in kept
                if not declared.is_withdrawn(path, str(child.get("name")))
            ]
            has_withdrawn = len(foreign) < len(kept)
            kept = _merged(_listed(payload, path), foreign)
            if has_withdrawn and not kept:
                # Without the list, Azure could keep what it has.
                return _with(payload, path.split("."), [])
        return _with(payload, path.split("."), kept) if kept else payload

    return named(modify, f"keep_children({path})")


def writable(value: Any, shape: "ChildShape | bool") -> Any:
    """Return the part of a response's value that a PUT may contain.

    Lists are filtered item by item; empty lists and nulls are left out, because an
    absent field means the same. Names match in any letter case; the response's spelling
    is kept.
    """
    if isinstance(shape, bool):
        return value
    if isinstance(value, list):
        return [writable(item, shape) for item in value]
    if not isinstance(value, dict):
        return value
    known = {name.lower(): inner for name, inner in shape.items()}
    return {
        name: writable(inner, known[name.lower()])
        for name, inner in value.items()
        if name.lower() in known and inner is not None and inner != []
    }


def _children(
    current: JsonObject, path: str, *, parent_may_be_absent: bool
) -> list[JsonObject]:
    if parent_may_be_absent and dig(current, path.rpartition(".")[0]) is None:
        return []
    children = dig(current, path)
    if not isinstance(children, list):
        raise ConditionError(
            f"Azure's answer for the resource has no list {path}: nothing was written, "
            "as a write without it could delete what it holds",
            reason="Failed",
        )
    return children


def _is_leaving(child: JsonObject) -> bool:
    return str(dig(child, "properties.provisioningState")).lower() == "deleting"


def _shape_at(shapes: Mapping[str, ChildShape], api_version: str) -> ChildShape:
    older = [version for version in shapes if version <= api_version]
    return shapes[max(older) if older else min(shapes)]


def _listed(payload: JsonObject, path: str) -> list[JsonObject]:
    value = dig(payload, path)
    return value if isinstance(value, list) else []


def _merged(ours: list[JsonObject], azures: list[JsonObject]) -> list[JsonObject]:
    names = {child.get("name") for child in ours}
    return [*ours, *(child for child in azures if child.get("name") not in names)]


def _with(payload: JsonObject, path: list[str], value: Any) -> JsonObject:
    """Return a copy of the payload with a value set; parts outside the path are
    shared.
    """
    head, *rest = path
    if not rest:
        return {**payload, head: value}
    inner = payload.get(head)
    return {
        **payload,
        head: _with(inner if isinstance(inner, dict) else {}, rest, value),
    }
