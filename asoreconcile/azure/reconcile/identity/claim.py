"""Claims an object before any request to Azure.

A claim is one write, which ends the reconcile. It sets the operator's mark, the
finalizer, the ARM id, the owner's labels and the owner reference, and records the claim
of the id (`recorded_claim`). The write is conditional on the resource version, so that
only one of two operators can claim an object. It comes before any PUT (R1.4), so that
after a crash at any point the object's deletion still reaches Azure. The claim waits
until everything that the spec needs exists (owner, references, Secrets, ConfigMaps),
and while another object manages the id (`duplicates`).
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext, suppress
from functools import partial
from types import MappingProxyType

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.condition_error import ConditionError, unusable
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.payload import to_arm
from asoreconcile.azure.catalogue.validation import rule_problems
from asoreconcile.azure.reconcile.identity.identity import (
    ResourceIdentity,
    identify,
    is_from_config,
    names_another,
)
from asoreconcile.azure.reconcile.identity.owner_change import renamed_owner, written
from asoreconcile.azure.reconcile.identity.recorded_claim import recorded
from asoreconcile.azure.reconcile.model.annotations import (
    AZURE_NAME_FROM_CONFIG,
    CLAIM,
    CLAIM_FACTS,
    FINALIZER,
    LATEST_RECONCILED_GENERATION,
    OPERATOR_NAMESPACE,
    OWNER_UID,
    RESOURCE_ID,
    build_label,
)
from asoreconcile.azure.reconcile.model.decisions import Requeue
from asoreconcile.azure.reconcile.model.existence import annotation_of_claim
from asoreconcile.azure.reconcile.model.owner import (
    Owner,
    owner_labels,
    owner_target,
    require_ready,
    waiting,
    with_owner_reference,
)
from asoreconcile.azure.reconcile.model.placeholders import PLACEHOLDERS_ROW
from asoreconcile.azure.reconcile.model.reach import require_in_reach
from asoreconcile.azure.reconcile.model.standing import Act, Permit, may
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import (
    JsonObject,
    finalizers,
    generation,
    is_deleting,
    labels,
    owner_references,
    spec,
    status,
)
from asoreconcile.kube.event_correlator import EventType
from asoreconcile.kube.finalizers import has_finalizer

# A person mends a few at a time, and a condition is stored with every object.
_MAX_PROBLEMS = 10


def claim(scope: ReconcileScope) -> Requeue:
    """Mark an object as the operator's and claim it, in one write (R1.3, R1.4).

    An object that cannot be claimed yet is only marked, so that the next reconcile can
    show the reason. Raises ConditionError if a marked object cannot be claimed yet.
    """
    patcher = scope.patcher
    is_marked = bool(patcher.annotations.get(OPERATOR_NAMESPACE))
    mark = {} if is_marked else {OPERATOR_NAMESPACE: scope.operator.namespace}
    meta: JsonObject | None = None
    with ExitStack() as claiming:
        if not has_finalizer(patcher.obj, FINALIZER):
            # Errors occur again in the next reconcile, on an object that is marked by
            # then and can show them.
            try:
                with nullcontext() if is_marked else suppress(Exception):
                    meta = _metadata(scope, claiming, is_new=True)
            except (ConditionError, RetryError):
                # A resource that it manages needs the finalizer while it waits.
                meta = _held(scope)
                if meta is None:
                    raise
            meta = meta or _held(scope)
        if meta is None:
            patcher.write_shared({"annotations": mark})
            return written(scope)
        meta["annotations"] |= mark
        patcher.write_shared(meta)
    return _claimed(scope)


def _held(scope: ReconcileScope) -> JsonObject | None:
    """Return the metadata that holds an object whose finalizer and annotations were
    replaced, by the copy of its record in the status; None if it manages nothing.
    """
    patcher, claim = scope.patcher, scope.claim
    deletes = may(scope.standing, Act.DELETE)
    if claim is None or not patcher.version.is_arm or deletes is Permit.NO:
        return None
    scope.log.warning("Holding a replaced object again", armId=claim.arm_id)
    owner = owner_target(patcher.version, patcher.obj)
    return {
        "finalizers": [*dict.fromkeys((*finalizers(patcher.obj), FINALIZER))],
        "annotations": {
            RESOURCE_ID: claim.arm_id,
            **claim.notes(patcher.obj, scope.operator.record_key()),
        },
        # Of no owner: the present one is named once it is known (`owner_change`).
        "labels": {} if owner is None else {OWNER_UID: _LOST},
    }


_LOST = "lost"


def _claimed(scope: ReconcileScope) -> Requeue:
    """End a reconcile that has written a claim."""
    if scope.patcher.version.is_arm:
        scope.memory.credential = source = scope.connection.source
        scope.event(*uses_credential(source))
    return written(scope)


def move_claim(scope: ReconcileScope, owner: Owner | None) -> Requeue | None:
    """Claim the resource that a corrected spec names, if Azure has accepted no PUT for
    the claimed one.

    Return None if the claim stays as it is.
    """
    if not scope.patcher.arm_id or not scope.may_move:
        return None
    if ids.same(identify(scope, owner).arm_id, scope.patcher.arm_id):
        return None
    scope.log.info("The spec names another resource", before=scope.patcher.arm_id)
    with ExitStack() as claiming:
        scope.patcher.write_shared(_metadata(scope, claiming, is_new=False))
    return _claimed(scope)


def restore_id(scope: ReconcileScope) -> Requeue | None:
    """Write the ARM id again if it was removed or edited after the claim (D10).

    Return None if the object is being deleted and has not claimed an id. A record of
    another id without the operator's mark proves nothing, and is dropped.

    Raises ConditionError if the spec no longer makes the id that the status shows: a
    PUT would create a second resource.
    """
    patcher, claim = scope.patcher, scope.claim
    if claim is not None:
        arm_id = claim.arm_id
    elif patcher.arm_id:
        patcher.record({CLAIM: None, CLAIM_FACTS: None})
        return written(scope)
    else:
        seen = str(status(patcher.obj).get("id") or "")
        try:
            arm_id = identify(scope, scope.owner()).arm_id
            if seen and not ids.same(seen, arm_id):
                raise _lost_id(arm_id, seen)
        except ConditionError as error:
            if is_deleting(patcher.obj) and error.reason in _NO_ID:
                return None
            raise
    scope.log.warning("Writing the lost resource-id again", armId=arm_id)
    patcher.record({RESOURCE_ID: arm_id})
    return written(scope)


# The reasons for which the spec of a deleted object makes no id of its own.
_NO_ID = frozenset({"ConfigMapNotFound", "Failed", "ReferenceNotFound"})


def _lost_id(made: str, seen: str) -> ConditionError:
    error = names_another(made, seen)
    return error.reworded(
        f"annotation {RESOURCE_ID} is missing, and {error}; if {seen} is not this "
        f"object's, set the annotation to {made}"
    )


def _metadata(
    scope: ReconcileScope, claiming: ExitStack, *, is_new: bool
) -> JsonObject:
    """Return the metadata of a claim. Raises ConditionError if the object cannot be
    claimed yet, RetryError while another object claims the id.

    claiming: keeps other objects from claiming the id until the claim is written.
    is_new: whether the object has not decided yet about a resource that exists already.
    """
    patcher, build = scope.patcher, scope.operator.build
    version, obj = patcher.version, patcher.obj
    require_valid(version, obj)
    owner = claimable_owner(scope.owner)
    existence: dict[str, str] = {}
    if is_new and version.decides_existence:
        inherited = scope.namespace_annotations
        if not version.is_arm:  # `sending.confirm` opens the question again for ARM
            read = scope.operator.namespace_annotations.live
            inherited = read(patcher.key.namespace, since=scope.began)
        existence = annotation_of_claim(patcher.annotations, inherited)
    if not version.is_arm:
        scope.log.info("Claiming")
        return claim_metadata(obj, owner, existence, build=build)
    identity = identify(scope, owner)
    scope.connection.require_subscription_of(identity.arm_id)
    arm_id, inherited = identity.arm_id, scope.namespace_annotations
    kind, namespace = version.group_kind, patcher.key.namespace
    is_granted = partial(scope.operator.is_granted, kind, namespace, arm_id)
    require_in_reach(arm_id, version.arm_type, inherited, is_granted)
    if PLACEHOLDERS_ROW.text(patcher.annotations) is None:
        # Resolve every input now: an object that cannot be PUT is not claimed yet.
        to_arm(version, spec(obj), name=identity.name, inputs=scope.references)
    claiming.enter_context(scope.operator.claims_under_way.claiming(arm_id))
    noted = recorded(scope, arm_id)
    if scope.standing.manages:
        existence = {}  # the copy of the record in the status proves it
    scope.log.info("Claiming", armId=arm_id)
    return claim_metadata(
        obj, owner, existence, build=build, identity=identity, claim=noted
    )


def require_valid(version: KindVersion, obj: JsonObject) -> None:
    """Check the rules of the kind that its schema cannot express.

    Admission webhooks refuse a write that violates one, if they run. Raises
    ConditionError `Failed` (Error), which names the violated rules.

    Exports are checked by `export`, which has another reason for them (R9.3).
    """
    problems = rule_problems(version, obj, exports=False)
    if not problems:
        return
    message = "; ".join(str(problem) for problem in problems[:_MAX_PROBLEMS])
    more = len(problems) - _MAX_PROBLEMS
    message = f"{message}; and {more} more" if more > 0 else message
    raise unusable(message)


def claimable_owner(owner_of: Callable[[], Owner | None]) -> Owner | None:
    """Return the owner. Raises ConditionError `WaitingForOwner` until it exists and is
    Ready (R1.5).
    """
    try:
        owner = owner_of()
    except ConditionError as error:
        if error.reason == "ReferenceNotFound":
            raise waiting(str(error)) from error
        raise
    require_ready(owner)
    return owner


def claim_metadata(
    obj: JsonObject,
    owner: Owner | None,
    existence: Mapping[str, str],
    *,
    build: str,
    identity: ResourceIdentity | None = None,
    claim: Mapping[str, str] = MappingProxyType({}),
) -> JsonObject:
    """Return the metadata of a claim. Pure.

    If an earlier claim named another owner, that owner is removed.

    existence: the annotation about a resource that exists already, or nothing. build:
    the operator's build. identity: the resource; None for kinds without ARM.
    claim: the annotations of the recorded claim.
    """
    renamed = renamed_owner(labels(obj), owner_references(obj), owner) or {}
    stored = {**existence}
    if identity is not None:
        stored[RESOURCE_ID] = identity.arm_id
        stored[LATEST_RECONCILED_GENERATION] = str(generation(obj))
        stored |= claim
        # The ConfigMap may give another name by the time that a lost resource-id is
        # written again: it must be this name.
        if is_from_config(obj):
            stored[AZURE_NAME_FROM_CONFIG] = identity.name
    references = with_owner_reference([*owner_references(obj)], owner)
    return {
        # A merge patch replaces lists: the whole list, on the resource version.
        "finalizers": [*dict.fromkeys((*finalizers(obj), FINALIZER))],
        "annotations": stored,
        **({"ownerReferences": references} if references else {}),
        **renamed,
        "labels": {
            **renamed.get("labels", {}),
            **owner_labels(owner),
            **build_label(build),
        },
    }


def uses_credential(source: str) -> tuple[EventType, str, str]:
    """Return the event that names the credential in use. source: the Secret's name."""
    return "Normal", "CredentialFrom", f'Using credential from "{source}"'
