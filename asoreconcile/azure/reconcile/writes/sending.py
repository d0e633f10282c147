"""Sends a PUT or a DELETE: the one place that changes a resource of Azure.

The conditions for such a request are checked here: the object is unchanged since this
reconcile read it, and no write of a parent or child is under way.
"""

from contextlib import ExitStack
from functools import partial

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import ArmOutcome
from asoreconcile.azure.middleware.extension_points import DELETE
from asoreconcile.azure.middleware.requests import DeleteRequest, DeleteResult
from asoreconcile.azure.reconcile.identity.claim import uses_credential
from asoreconcile.azure.reconcile.identity.recorded_claim import (
    awaiting_answer,
    open_claim,
)
from asoreconcile.azure.reconcile.model.annotations import operators_own
from asoreconcile.azure.reconcile.model.decisions import Put
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED
from asoreconcile.azure.reconcile.model.existence import note_of_claim
from asoreconcile.azure.reconcile.model.policy import policy_of
from asoreconcile.azure.reconcile.model.reach import require_in_reach
from asoreconcile.azure.reconcile.model.standing import Standing
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper, StaleError
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.shared_dependencies import SharedDependencies
from asoreconcile.azure.reconcile.state.parent_writes import ParentRead
from asoreconcile.azure.reconcile.writes.holds import BEHIND_SECONDS, require_free


def confirm_object(operator: SharedDependencies, patcher: PatchHelper) -> None:
    """Make sure that the object is unchanged since this reconcile read it.

    At most one request. Raises GoneError, StaleError.
    """
    is_asked = not patcher.is_live
    patcher.confirm()
    if is_asked:
        operator.count_confirmation("object")


def confirm(scope: ReconcileScope, *, is_delete: bool) -> None:
    """Make sure that the object and its Namespace, as they are now, permit the request.

    They are read from the API server, as late as possible: because of a cache that
    lags, a resource must not be created for an object that is gone (D2), nor be changed
    or deleted against a policy. Raises GoneError; StaleError, after which the reconcile
    starts again from the newer object; ConditionError `NamespaceUnreadable`; and the
    exceptions of `require_in_reach` and `require_free`.
    """
    patcher, operator = scope.patcher, scope.operator
    confirm_object(operator, patcher)
    inherited = operator.namespace_annotations.live(
        patcher.key.namespace, since=scope.began
    )
    operator.count_confirmation("namespace")
    policy = policy_of(patcher.annotations, inherited, operator.default_policy)
    is_permitted = policy and (policy.deletes if is_delete else policy.writes)
    known = scope.namespace_annotations
    # The body rests on some annotations of the Namespace, as those about tags.
    is_news = inherited != known and operators_own(inherited) != operators_own(known)
    if is_news and patcher.version.decides_existence and scope.manages_nothing:
        # The decision about a resource that exists rested on the former annotations.
        patcher.record(note_of_claim(patcher.annotations, inherited))
    if is_news or not is_permitted:
        raise _behind(patcher)
    version, arm_id = patcher.version, patcher.arm_id
    kind, namespace = version.group_kind, patcher.key.namespace
    is_granted = partial(operator.is_granted, kind, namespace, arm_id)
    require_in_reach(arm_id, version.arm_type, inherited, is_granted)
    require_free(operator, patcher, inherited, event=scope.event, is_delete=is_delete)


def confirm_release(scope: ReconcileScope) -> None:
    """Make sure that the policy of the Namespace, as it is now, also keeps the resource
    of a deleted object.

    A release cannot be undone: the resource would stay in Azure. Raises StaleError,
    ConditionError `NamespaceUnreadable`.
    """
    patcher, operator = scope.patcher, scope.operator
    inherited = operator.namespace_annotations.live(
        patcher.key.namespace, since=scope.began
    )
    operator.count_confirmation("namespace")
    policy = policy_of(patcher.annotations, inherited, operator.default_policy)
    if policy is None or policy.deletes:
        raise _behind(patcher)


def _behind(patcher: PatchHelper) -> StaleError:
    return StaleError(
        f"{patcher.key} is left as it is: annotations of its Namespace changed",
        after_seconds=BEHIND_SECONDS,
    )


def send_put(
    scope: ReconcileScope, put: Put, reading: ParentRead
) -> ArmOutcome | ArmError:
    """Send a PUT; return Azure's answer, or its refusal.

    reading: the record of the reads that the body rests on.
    Raises GoneError or StaleError if the object has changed since it was read;
    RetryError if a parent or a child is written meanwhile; ArmTransportError.
    """
    memory, connection = scope.memory, scope.connection
    confirm(scope, is_delete=False)
    open_claim(scope, put.arm_id, was_absent=_was_absent(scope))
    # Also if Azure refuses the PUT: a person will ask whose credential it was.
    before, memory.credential = memory.credential, connection.source
    if before and before != connection.source:
        scope.event(*uses_credential(connection.source))
    scope.log.info("Putting resource", armId=put.arm_id)
    # If the body contains values that were read, the PUT is sent only while they hold:
    # by the resource's ETag, else by turns.
    required_etag = scope.context.required_etag
    headers = {"If-Match": required_etag} if required_etag else {}
    parent_writes = scope.operator.parent_writes
    try:
        with ExitStack() as stack:
            if required_etag == "":
                stack.enter_context(parent_writes.exclusive(reading))
            stack.enter_context(parent_writes.writing(put.arm_id))
            # From here on Azure may have this body, also if the answer is a refusal:
            # values that it does not show are unknown until a PUT is accepted.
            memory.accepted = None
            if put.withdrawn:
                scope.patcher.annotate({OBSERVED: put.withdrawn})
            stack.callback(scope.operator.note_write, put.arm_id)
            stack.enter_context(awaiting_answer(memory))
            return connection.client.put(
                put.arm_id,
                scope.patcher.version.api_version,
                put.body,
                headers=headers,
            )
    except ArmError as error:
        return error


def _was_absent(scope: ReconcileScope) -> bool | None:
    """Return whether this PUT, or an open one before it, was preceded by a read that
    found nothing; None if the object need not ask.
    """
    if not scope.must_ask:
        return None
    claim, is_open = scope.claim, scope.standing is Standing.PERHAPS
    was_absent = is_open and claim is not None and claim.facts.was_absent
    return was_absent or scope.context.is_known_absent


def send_delete(scope: ReconcileScope) -> DeleteResult | ArmError:
    """Send a DELETE through the extensions; return the result, or Azure's refusal.

    Raises GoneError or StaleError if the object has changed since it was read;
    RetryError while a PUT of a parent is sent; ArmTransportError.
    """
    confirm(scope, is_delete=True)
    patcher, operator = scope.patcher, scope.operator
    chain = operator.extensions.chain(DELETE, patcher.version.group_kind)
    scope.log.info("Deleting resource", armId=patcher.arm_id)
    try:
        # A PUT of the parent that contains this child must not create it again.
        with operator.parent_writes.writing(patcher.arm_id):
            return chain(DeleteRequest(ctx=scope.context, obj=patcher.obj))
    except ArmError as error:
        return error
    finally:
        # Also without an answer: Azure may have accepted the request.
        operator.note_write(patcher.arm_id)
