"""Decides whether an object would make its resource again after a deletion. Pure.

A recreation deletes all that is in the resource. Each object whose resource goes with
it must be able to make its own again. Rule: OW-6.
"""

from collections.abc import Mapping
from datetime import datetime

from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.conditions import ready_of
from asoreconcile.azure.reconcile.model.pace import (
    closed_at,
    unhandled_request,
    why_paused,
)
from asoreconcile.azure.reconcile.model.policy import Policy, policy_of
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode, sync_mode_of
from asoreconcile.base.objects import JsonObject, is_deleting

_WAITS = frozenset(
    {
        "ConfigMapNotFound",
        "CredentialError",
        "ReferenceNotFound",
        "SecretNotFound",
        "WaitingForOwner",
        "WaitingForReference",
    }
)


def why_not_back(
    obj: JsonObject,
    inherited: Mapping[str, str],
    *,
    policy: Policy,
    mode: SyncMode,
    now: datetime,
) -> str:
    """Return why an object would not make its resource again, as a clause; "" if it
    would.

    inherited: the annotations of its Namespace. policy, mode: the operator's defaults.
    """
    own = annotations(obj)
    in_force = policy_of(own, inherited, policy)
    ready = ready_of(obj)
    if is_deleting(obj):
        return "which is being deleted"
    if in_force is None or not in_force.writes:
        return "whose reconcile policy sends nothing"
    if sync_mode_of(own, inherited, mode) is SyncMode.REPORT:
        return "whose sync mode only reports"
    if why_paused(own, inherited):
        return "which is paused"
    if closed_at(now, own, inherited, is_asked=bool(unhandled_request(own))):
        return "outside its maintenance windows"
    if ready.get("severity") == "Error" or ready.get("reason") in _WAITS:
        return f"which is not Ready ({ready.get('reason')})"
    return ""
