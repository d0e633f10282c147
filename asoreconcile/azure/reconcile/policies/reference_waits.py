"""The wait for the resources that a spec refers to: a PUT is sent once they are in
Azure. The decision is `model.reference_waits`. Rule: OW-5.
"""

from collections.abc import Sequence

import attrs

from asoreconcile.azure.catalogue.inputs import inputs_of
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    POLLER_ID,
    PUT_POLLER,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.conditions import severity_of_wait
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.reference_waits import (
    is_far_enough,
    waiting_for,
    waits_for_references,
)
from asoreconcile.azure.reconcile.model.standing import Standing, standing_in
from asoreconcile.azure.reconcile.policies.requests import DecidedPut, Intent
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.references import target_of
from asoreconcile.azure.reconcile.scope.shared_dependencies import SharedDependencies
from asoreconcile.base.objects import JsonObject, ObjectKey, spec


@attrs.frozen
class AwaitedReferences:
    """The part of the memory about this wait. since: time at which it began, in
    monotonic seconds; None if the object does not wait.
    """

    since: float | None = None


def await_references(intent: Intent) -> None:
    """Wait before the checks of extensions, if a PUT is sent whatever is read: an
    object that has to wait asks Azure nothing. Raises ConditionError
    `WaitingForReference`.
    """
    if not intent.is_sync and intent.scope.memory.accepted is None:
        _require_references(intent.scope)


def await_references_late(request: DecidedPut) -> None:
    """Wait before a PUT, unless the wait is over. Raises as `await_references`."""
    if not request.intent.is_checked:
        _require_references(request.scope)


def _require_references(scope: ReconcileScope) -> None:
    """Make sure that Azure accepts the references of a PUT.

    Not checked if the object need not wait for them, or if they form a cycle. Raises
    ConditionError `WaitingForReference`.
    """
    operator, patcher, memory = scope.operator, scope.patcher, scope.memory
    missing = [
        node
        for node in _referred(patcher)
        if _is_missing(operator, patcher, node, scope.objects.get(*node))
    ]
    if missing and not waits_for_references(
        patcher.annotations,
        scope.namespace_annotations,
        default=operator.wait_for_references,
    ):
        missing = []
    if not missing:
        memory.keep(AwaitedReferences())
        return
    since = memory.part(AwaitedReferences).since
    if since is None:
        since = scope.began
        memory.keep(AwaitedReferences(since))
    seconds = scope.began - since
    is_info = severity_of_wait(patcher.obj, patcher.generation) == "Info"
    raise waiting_for(missing, seconds=seconds, is_info=is_info)


def _referred(patcher: PatchHelper) -> Sequence[ObjectReference]:
    """Return the Azure objects that the spec refers to by name, each once."""
    found = (
        ObjectReference(group_kind, ObjectKey(patcher.key.namespace, name))
        for one in inputs_of(patcher.version, spec(patcher.obj))
        if one.kind == "reference"
        for group_kind, name in [target_of(one.value)]
    )
    return tuple(dict.fromkeys(found))


def _is_missing(
    operator: SharedDependencies,
    patcher: PatchHelper,
    node: ObjectReference,
    target: JsonObject | None,
) -> bool:
    """Return whether Azure does not accept the object's reference to another object
    yet.

    node, target: the other object; target is None if there is no such object.
    """
    version = patcher.version
    # The rendering of the body reports an object that is absent or has no id.
    arm_id = "" if target is None else annotations(target).get(RESOURCE_ID) or ""
    if target is None or not arm_id:
        return False
    standing = standing_in(target, arm_id, operator.record_key)
    is_accepted = standing is Standing.MANAGES
    is_running = annotations(target).get(POLLER_ID) == PUT_POLLER
    if is_far_enough(version.arm_type, target, is_accepted=is_accepted or is_running):
        return False
    return not operator.leads_to(node, patcher.node)
