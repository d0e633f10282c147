"""Checks of a resource's state that block a write while Azure is busy with the
resource.

An unknown state never blocks: before the first create there is no state.
"""

from collections.abc import Callable, Collection
from typing import TypeVar

from asoreconcile.azure.middleware.extension_points import Middleware
from asoreconcile.azure.middleware.requests import (
    Block,
    PreReconcile,
    PreReconcileOwner,
    PreResult,
)
from asoreconcile.base.objects import GroupKind, JsonObject, dig, gvk_of, metadata

_Extension = TypeVar("_Extension", bound=Callable[..., object])

# Where a provisioning operation ends, lower-case.
TERMINAL = frozenset({"succeeded", "failed", "canceled"})

_BUSY = 'Azure is busy with the resource: its state is "{state}"'
_OWNER_BUSY = 'Azure is busy with the owner "{name}": its state is "{state}"'


def block_unless_state(
    path: str, states: Collection[str] = TERMINAL, *, message: str = _BUSY
) -> Middleware[PreReconcile, PreResult]:
    """Return a check that blocks while the state is not one of those that allow writes.

    path: dotted, from the object's root (`status.provisioningState`).
    states: in lower case; Azure's letter case is ignored.
    message: may contain `{state}` and `{name}`.
    """
    check = _gate(path, lambda state: state.lower() not in states, message)
    return named(check, f"block_unless_state({path})")


def block_if_state(
    path: str, states: Collection[str], *, message: str = _BUSY
) -> Middleware[PreReconcile, PreResult]:
    """Return a check that blocks in the given states; parameters as
    `block_unless_state`.
    """
    check = _gate(path, lambda state: state.lower() in states, message)
    return named(check, f"block_if_state({path})")


def block_unless_owner_state(
    owner: GroupKind,
    path: str,
    states: Collection[str] = TERMINAL,
    *,
    message: str = _OWNER_BUSY,
    exact_case: bool = False,
) -> Middleware[PreReconcileOwner, PreResult]:
    """Return a check that blocks a child while its owner accepts no writes.

    owner: the kind of owner that is checked; other owners are ignored.
    path: from the owner's root.
    exact_case: if true, `states` are compared with letter case.
    """

    def check(
        req: PreReconcileOwner, call_next: Callable[[PreReconcileOwner], PreResult], /
    ) -> PreResult:
        state = _state(req.owner, path)
        # Extension resources hang on owners of many kinds, and the state of another one
        # says nothing here.
        if gvk_of(req.owner).group_kind != owner or not state:
            return call_next(req)
        if (state if exact_case else state.lower()) in states:
            return call_next(req)
        return Block(_with_state(message, req.owner, state))

    return named(check, f"block_unless_owner_state({owner.kind}, {path})")


def _gate(
    path: str, blocks: Callable[[str], bool], message: str
) -> Middleware[PreReconcile, PreResult]:
    def check(
        req: PreReconcile, call_next: Callable[[PreReconcile], PreResult], /
    ) -> PreResult:
        state = _state(req.obj, path)
        if state and blocks(state):
            return Block(_with_state(message, req.obj, state))
        return call_next(req)

    return check


def _state(obj: JsonObject, path: str) -> str:
    value = dig(obj, path)
    return value if isinstance(value, str) else ""


def _with_state(message: str, obj: JsonObject, state: str) -> str:
    return message.format(state=state, name=metadata(obj).get("name") or "")


def named(run: _Extension, name: str) -> _Extension:
    """Return the same function with the name that lists, logs and metrics show."""
    run.__qualname__ = name
    return run
