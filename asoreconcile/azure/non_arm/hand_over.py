"""Finds the object that takes over what a deleted object leaves outside the cluster.

Dropping a database user, or a group of Entra, that another object of the namespace
declares as its own would take away its grants and memberships, and the operator would
make it again at once.
"""

from collections.abc import Callable
from contextlib import suppress

from asoreconcile.azure.catalogue.conversion import KindConversionError
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.reconcile.identity.duplicates import age_of, writes
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.objects import JsonObject, is_deleting, key_of, uid_of
from asoreconcile.kube.errors import NotFoundError


def heir_of(
    scope: ReconcileScope, declares: Callable[[KindVersion, JsonObject], bool]
) -> JsonObject | None:
    """Return the oldest object of the namespace that takes over, as the API server has
    it; None if there is no such object.

    declares: returns whether the spec of an object declares the same thing. Blocking.
    """
    operator, patcher, kind = scope.operator, scope.patcher, scope.kind
    found = [
        other
        for version, other in operator.objects_of(patcher.version.group_kind)
        if key_of(other).namespace == patcher.key.namespace
        and uid_of(other) != uid_of(patcher.obj)
        and declares(version, other)
    ]
    for other in sorted(found, key=age_of):
        with suppress(NotFoundError, KindConversionError):
            live = kind.form.read(operator.client.get(kind.resource, key_of(other)))
            is_live = uid_of(live) == uid_of(other) and not is_deleting(live)
            if is_live and writes(operator, live) and declares(patcher.version, live):
                return live
    return None


def report_heir(scope: ReconcileScope, heir: JsonObject) -> None:
    """Record an event at the object that takes over from the deleted one."""
    text = f"{scope.patcher.key} is deleted: this object takes over"
    scope.kind.recorder.event(heir, "Normal", "TakesOver", text)
