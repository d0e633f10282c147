"""The built-in chains over the real catalogue, for the tests of this folder."""

from functools import cache
from typing import Any

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.extensions.registry import builtin_sets
from asoreconcile.azure.middleware.chain import Ends, Extensions
from asoreconcile.base.objects import GroupKind, GroupVersionKind, JsonObject

SUBSCRIPTION = "00000000-0000-0000-0000-000000000001"


@cache
def _kinds() -> frozenset[GroupKind]:
    return frozenset(kind.group_kind for kind in builtin().kinds())


def composed(ends: Ends | None = None) -> Extensions:
    return Extensions.compose(builtin_sets(), kinds=_kinds(), ends=ends or {})


@cache
def default() -> Extensions:
    return composed()


def group_kind(text: str) -> GroupKind:
    """`network/VirtualNetwork` -> its GroupKind."""
    group, _, kind = text.partition("/")
    return GroupKind(f"{group}.azure.com", kind)


def version(text: str, name: str = "") -> KindVersion:
    """The catalogue's entry of `network/VirtualNetwork`, by default the served one."""
    gk = group_kind(text)
    kind = builtin().kind(gk)
    return builtin().version(GroupVersionKind(gk.group, name or kind.storage, gk.kind))


def cr(
    text: str, *, spec: Any = None, status: Any = None, name: str = "sample"
) -> JsonObject:
    gvk = version(text).gvk
    return {
        "apiVersion": gvk.api_version,
        "kind": gvk.kind,
        "metadata": {"name": name, "namespace": "default", "generation": 1},
        "spec": spec or {},
        "status": status or {},
    }


def status_at(path: str, value: Any) -> Any:
    """`{"a": {"b": value}}` for `a.b`."""
    for part in reversed(path.split(".")):
        value = {part: value}
    return value
