"""Decides how a reconcile of an object starts, before anything is done. Pure.

The order of the questions is fixed (R1.1-R1.8, R5.1, R5.2, OW-7): does the object
belong to another operator, is it paused, is it being deleted, is it claimed, may we
write, does an operation run? Kinds without ARM have no operations, and no ARM id.
"""

from collections.abc import Mapping
from enum import Enum, auto

from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    CLAIM,
    DELETE_POLLER,
    FINALIZER,
    OPERATOR_NAMESPACE,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.recreation import says_deleting
from asoreconcile.azure.reconcile.model.standing import stated_ids
from asoreconcile.base.objects import JsonObject, is_deleting, status
from asoreconcile.kube.finalizers import has_finalizer


class Step(Enum):
    """The step of a reconcile that follows the plan."""

    LEAVE = auto()  # the object belongs to another operator
    PAUSE = auto()  # a person has paused the object (OW-7)
    DISOWN = auto()  # remove the records of another object, of which this is a copy
    CLAIM = auto()  # write the operator's mark, and the claim (R1.3, R1.4)
    RESTORE_ID = auto()  # write the ARM id again, which was removed or edited (D10)
    OBSERVE = auto()  # read the resource only
    PUT = auto()
    POLL = auto()  # the recorded operation
    RECREATE = auto()  # delete the resource, so that a PUT makes it again (OW-6)
    DELETE = auto()
    AWAIT_PARENT = auto()  # Azure deletes the resource with its parent only (R5.9)
    RELEASE = auto()  # remove the finalizer
    AWAIT_POLICY = auto()  # the reconcile policy is unreadable (R1.7)


def plan(
    obj: JsonObject,
    *,
    may_write: bool,
    may_delete: bool,
    operator_namespace: str,
    can_delete: bool,
    is_arm: bool,
    is_readable: bool,
    is_paused: bool,
    is_copied: bool = False,
) -> Step:
    """Decide how a reconcile starts.

    obj: reads metadata and status.id. may_write, may_delete: whether the reconcile
    policy lets the operator PUT and DELETE the resource. can_delete: whether Azure
    offers DELETE for the kind. is_readable: false if the policy has an unknown value.
    is_copied: whether the records in the annotations are those of another object.
    """
    own = annotations(obj)
    owner, is_held = own.get(OPERATOR_NAMESPACE), has_finalizer(obj, FINALIZER)
    if owner and owner != operator_namespace:
        return Step.LEAVE
    if is_paused:
        return Step.PAUSE
    if is_copied:
        return Step.DISOWN
    lacks_id = is_arm and _has_lost_id(own)
    poller = own.get(POLLER_ID) if is_arm and own.get(POLLER_TOKEN) else None
    if is_deleting(obj):
        if not is_held or (is_readable and not may_delete):
            return Step.RELEASE
        if lacks_id:
            seen = stated_ids(own) or own.get(POLLER_TOKEN)
            # Never created: nothing to delete, and no credential is needed (D18).
            return Step.RESTORE_ID if seen or status(obj).get("id") else Step.RELEASE
        if not can_delete:
            return Step.AWAIT_PARENT
        # A deletion does not wait for a running create (R5.7).
        if poller == DELETE_POLLER:
            return Step.POLL
        return Step.DELETE if is_readable else Step.AWAIT_POLICY
    # Each of these is one write that must be stored before any request to Azure. It
    # ends its reconcile; the next reconcile continues.
    if not owner or not is_held:
        return Step.CLAIM
    if lacks_id:
        return Step.RESTORE_ID
    if not is_readable:
        return Step.AWAIT_POLICY
    if not may_write:
        return Step.OBSERVE
    if is_arm and says_deleting(own):
        return Step.RECREATE
    return Step.POLL if poller == PUT_POLLER else Step.PUT


def _has_lost_id(own: Mapping[str, str]) -> bool:
    """Return whether the ARM id is missing, or differs from the one of the claim."""
    noted, claim = own.get(RESOURCE_ID), own.get(CLAIM)
    # The id is at the record's end.
    return not noted or not (claim or f" {noted}").lower().endswith(f" {noted.lower()}")
