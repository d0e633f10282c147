"""Decides before a DELETE whether another object gets the resource, or holds it.

An object of the namespace that declares the id and writes takes over before the deleted
one goes. Until Azure has accepted its PUT, the deletion waits, and the condition says
what the other object lacks. An object of another namespace holds a deletion if it
manages the resource, or if its own credential reads it. Blocking. Rule: D22.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.reconcile.identity.duplicates import (
    Rival,
    has_taken_over,
    heir_among,
    rivals_of,
    writes,
)
from asoreconcile.azure.reconcile.identity.recorded_claim import agree
from asoreconcile.azure.reconcile.model.annotations import (
    DELETES_DECLARED,
    RECONCILE_POLICY,
)
from asoreconcile.azure.reconcile.model.coming_back import why_not_back
from asoreconcile.azure.reconcile.model.conditions import ready_of
from asoreconcile.azure.reconcile.model.instructions import DELETES_DECLARED_ROW
from asoreconcile.azure.reconcile.model.policy import LET_GO
from asoreconcile.azure.reconcile.model.protection import names_of
from asoreconcile.azure.reconcile.model.standing import Act, Permit, Standing, may
from asoreconcile.azure.reconcile.model.switches import is_on
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import is_deleting, uid_of

HANDING_OVER = "HandingOver"
"""The reason of the condition of a deleted object that waits for its heir."""
TAKES_OVER = "TakesOver"
_SHOWN_CHARACTERS = 300
_AGAIN_SECONDS = 10.0
_HOUR = timedelta(hours=1)
_ON_THEIR_WAY = frozenset({"AlreadyManaged", "AlreadyExists", "Reconciling"})


def why_handed_over(
    scope: ReconcileScope,
    standing: Standing,
    manager: Rival | None,
    rivals: Sequence[Rival],
) -> str:
    """Return why the resource stays in Azure because of other objects, or "".

    standing: right of the deleted object. manager: the other object that manages the
    id. rivals: the others that declare it, as the API server has them.

    Raises ConditionError `HandingOver` while an object of the namespace has not taken
    over yet, `DeclaredByAnother` while one of another namespace holds the deletion;
    RetryError if that cannot be found out now; as `rivals_of`.
    """
    patcher, arm_id = scope.patcher, scope.patcher.arm_id
    if manager is not None:
        report_taken_over(scope, manager)
        return f"{arm_id} is left in Azure: {manager.node} manages it"
    live = [one for one in rivals if not one.is_leaving]
    namespace = patcher.key.namespace
    here = [one for one in live if one.node.key.namespace == namespace]
    if may(standing, Act.DELETE) is Permit.IF_ALONE and live:
        heir = heir_among(namespace, live)
        return f"{arm_id} is left in Azure: {heir and heir.node} declares it too"
    heir = heir_among(namespace, here)
    if heir is not None:
        hand_over(scope, heir)
    _require_no_owner(scope)
    for one in live:
        if one.node.key.namespace != namespace:
            _require_no_veto(scope, one)
    return ""


def report_taken_over(scope: ReconcileScope, manager: Rival) -> None:
    """Record an event at the object that has taken over from the deleted one."""
    patcher = scope.patcher
    if has_taken_over(manager, uid_of(patcher.obj), scope.claim):
        kind = patcher.version.gvk.kind
        text = f"{kind} {patcher.key} is deleted: this object has taken over "
        scope.kind.recorder.event(
            manager.obj, "Normal", TAKES_OVER, text + patcher.arm_id
        )


def hand_over(scope: ReconcileScope, heir: Rival) -> NoReturn:
    """Agree to hand over, and wait. Raises ConditionError `HandingOver`."""
    operator, patcher = scope.operator, scope.patcher
    # Its events wake this object, and this object's agreement wakes it.
    operator.waiting.note(patcher.node, heir.node)
    operator.waiting.note(heir.node, patcher.node)
    agree(scope, patcher.arm_id, heir)
    raise ConditionError(
        f"nothing is deleted in Azure: {heir.node} declares {patcher.arm_id} too and "
        f"takes it over; this object goes once Azure has accepted a PUT of it"
        f"{_lack(scope, heir)}. To delete the resource, delete {heir.node} too, or set "
        f"{RECONCILE_POLICY} to skip on it. {LET_GO}",
        reason=HANDING_OVER,
    )


def _lack(scope: ReconcileScope, heir: Rival) -> str:
    """Return what keeps an heir from taking over, as the rest of a sentence."""
    operator = scope.operator
    why = why_not_back(
        heir.obj,
        operator.namespace_annotations(heir.node.key.namespace),
        policy=operator.default_policy,
        mode=operator.sync_mode,
        now=operator.clock.now(),
    )
    ready = ready_of(heir.obj)
    is_held = ready.get("status") == "False" and ready.get("severity") != "Info"
    if is_held and ready.get("reason") not in _ON_THEIR_WAY:
        message = str(ready.get("message") or "")[:_SHOWN_CHARACTERS]
        return f". It waits: {ready.get('reason')}: {message}"
    return f". It is an object {why}" if why else ""


def _require_no_owner(scope: ReconcileScope) -> None:
    """Make sure that no other owner object of the same id, which only reads, has
    children: they were given to it so that they stay. Raises ConditionError
    `HandingOver`.
    """
    operator, patcher = scope.operator, scope.patcher
    for one in rivals_of(operator, patcher.obj, patcher.arm_id, with_readers=True):
        is_here = one.node.key.namespace == patcher.key.namespace
        if one.is_leaving or not is_here or writes(operator, one.obj):
            continue
        children = [
            node
            for node in operator.children_of(one.node)
            if (child := operator.objects.get(*node)) and not is_deleting(child)
        ]
        if not children:
            continue
        operator.waiting.note(patcher.node, one.node)
        raise ConditionError(
            f"nothing is deleted in Azure: {one.node} stands for {patcher.arm_id} too "
            f"and owns {names_of(children)}, but only reads. Let it manage the "
            f"resource (remove its {RECONCILE_POLICY}): it takes over before this "
            f"object goes. To delete the resource with all in it, delete {one.node} "
            f"and those objects first. {LET_GO}",
            reason=HANDING_OVER,
        )


def _require_no_veto(scope: ReconcileScope, rival: Rival) -> None:
    """Make sure that an object of another namespace does not hold the deletion. Raises
    ConditionError `DeclaredByAnother`.
    """
    operator, patcher = scope.operator, scope.patcher
    permit = may(rival.standing, Act.HOLD_ELSEWHERE)
    if permit is Permit.NO:
        return
    if permit is Permit.FOR_AN_HOUR and _is_old(scope, rival):
        return
    notes = operator.namespace_annotations.live(
        patcher.key.namespace, since=scope.began
    )
    if is_on(notes, DELETES_DECLARED_ROW):
        return
    if permit is Permit.IF_READ and not _reads(scope, rival):
        return
    operator.waiting.note(patcher.node, rival.node)
    raise ConditionError(
        f"nothing is deleted: {rival.node}, of another namespace, declares "
        f"{patcher.arm_id} as its own, and it "
        f"{'may manage' if permit is not Permit.IF_READ else 'can read'} the resource. "
        f"Delete that object, or set {RECONCILE_POLICY} to skip on it; or an "
        f"administrator annotates the Namespace {patcher.key.namespace} with "
        f'{DELETES_DECLARED}: "true", and the resource is deleted all the same; or set '
        f"{RECONCILE_POLICY} to detach-on-delete on this object, which leaves the "
        "resource in Azure",
        reason="DeclaredByAnother",
    )


def _is_old(scope: ReconcileScope, rival: Rival) -> bool:
    if rival.claim is None:
        return False
    then = datetime.fromisoformat(rival.claim.at).astimezone(UTC)
    return scope.operator.clock.now() - then > _HOUR


def _reads(scope: ReconcileScope, rival: Rival) -> bool:
    """Return whether the credential of another object reads the resource: without that,
    its namespace has nothing to do with it.

    One GET. Raises RetryError if Azure or the sign-in does not answer.
    """
    version = scope.patcher.version
    try:
        connection = scope.operator.connections.for_object(rival.obj)
        connection.require_subscription_of(scope.patcher.arm_id)
        connection.client.get(scope.patcher.arm_id, version.api_version)
    except CredentialError as error:
        if error.is_passing:
            raise _ask_again(rival) from error
        return False
    except ConditionError:
        return False
    except ArmTransportError as error:
        raise _ask_again(rival) from error
    except ArmError as error:
        if error.is_transient:
            raise _ask_again(rival) from error
        return False
    return True


def _ask_again(rival: Rival) -> RetryError:
    text = f"it is not known yet whether {rival.node} can read the resource"
    return RetryError(text, after_seconds=_AGAIN_SECONDS)
