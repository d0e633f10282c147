"""The Azure resource that an object represents: its name and its ARM id.

Both follow from the spec and the owner. After the claim they must not change: a PUT to
another id would create a second resource and leave the first behind (write-once,
R10.1). They may change while Azure has accepted no PUT of the object.
"""

from collections.abc import Callable

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.condition_error import ConditionError, unusable
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.names import azure_name, is_named_by_uuid
from asoreconcile.azure.catalogue.paths import PathError
from asoreconcile.azure.catalogue.paths import arm_id as arm_id_of
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    AZURE_NAME_FROM_CONFIG,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.claim_record import ClaimRecord, PutAnswers
from asoreconcile.azure.reconcile.model.owner import Objects, Owner, resolve_owner
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.references import ReferenceResolver
from asoreconcile.base.objects import JsonObject, is_deleting, spec


@attrs.frozen
class ResourceIdentity:
    """The Azure name (last path segment) and the full ARM id."""

    name: str
    arm_id: str


def stated_name(
    version: KindVersion, obj: JsonObject, *, may_move: bool = False
) -> str | None:
    """Return the Azure name; None if it is in the ConfigMap of
    `spec.azureNameFromConfig`.

    `configured_name` then reads the name.

    may_move: whether the spec may name another resource than the claimed one.

    Names that were generated or read at the claim do not change: a UUID may be random,
    or generated differently by another version of the kind. Raises ConditionError
    `Failed`.
    """
    claimed, from_config = claimed_id(obj), is_from_config(obj)
    if from_config and may_move:
        return None
    if claimed and (from_config or _is_made_up(version, obj)):
        return _single(claimed_name(claimed))
    if from_config:
        # When a lost resource-id is written again, the ConfigMap may contain another
        # name than the annotation, which has the one of the claim.
        noted = annotations(obj).get(AZURE_NAME_FROM_CONFIG)
        return _single(noted) if noted else None
    name = azure_name(version, obj)
    if not name:
        raise unusable("the Azure name cannot be derived: set spec.azureName")
    return _single(name)


def resource_identity(
    version: KindVersion,
    name: str,
    claimed: str,
    *,
    owner_id: str,
    subscription_id: str,
    may_move: bool = False,
) -> ResourceIdentity:
    """Return the resource that the spec names now.

    claimed: the ARM id in the annotation, "" before the claim. owner_id: "" without an
    owner. may_move: see `stated_name`. Raises ConditionError `Failed` (Error) if the
    object has claimed another one.
    """
    arm_id = arm_id_of(
        version, name=name, owner_id=owner_id, subscription_id=subscription_id
    )
    if claimed and not _same(claimed, arm_id):
        if may_move:
            return ResourceIdentity(name, arm_id)
        raise names_another(arm_id, claimed)
    # In the spelling of the claim: Azure ignores case, and the annotation must not
    # flap.
    return ResourceIdentity(name, claimed or arm_id)


def names_another(made: str, managed: str) -> ConditionError:
    """Return the condition of an object whose spec names another resource than the one
    the object manages.

    made: the id that follows from the present spec. managed: the claimed id.
    """
    return unusable(
        f"spec.azureName or spec.owner now names {made}, but this object manages "
        f"{managed}: change it back, or delete the object and create it anew"
    )


def name_of_other(version: KindVersion, obj: JsonObject, claimed: str) -> str:
    """Return the Azure name of another object without a read; "" if it is unknown.

    For a name that was generated or read from a ConfigMap, the claimed name is
    returned.
    """
    keeps_name = claimed and (_is_made_up(version, obj) or is_from_config(obj))
    return claimed_name(claimed) if keeps_name else azure_name(version, obj)


def is_from_config(obj: JsonObject) -> bool:
    """Return whether the Azure name came from a ConfigMap at the claim."""
    stated = spec(obj)
    return bool(stated.get("azureNameFromConfig")) and not stated.get("azureName")


def claimed_name(claimed: str) -> str:
    """Return the last segment of a claimed id."""
    return claimed.rpartition("/")[2]


def claimed_id(obj: JsonObject) -> str:
    """Return the ARM id in the annotation; "" before the claim."""
    return annotations(obj).get(RESOURCE_ID) or ""


def _is_made_up(version: KindVersion, obj: JsonObject) -> bool:
    return is_named_by_uuid(version.group_kind) and not spec(obj).get("azureName")


def _single(name: str) -> str:
    """Return a name after checking that it has one segment. More segments would be the
    id of another resource.
    """
    if problem := ids.segment_problem(name):
        raise unusable(f"no resource can be called {name!r}: the name {problem}")
    return name


def _same(claimed: str, arm_id: str) -> bool:
    try:
        ids.parse_stated(claimed)
    except ids.ArmIdError as error:
        raise unusable(
            f"annotation {RESOURCE_ID} is no ARM id ({error}): remove it, and it is "
            "written anew"
        ) from error
    return ids.same(claimed, arm_id)


def identify(scope: ReconcileScope, owner: Owner | None) -> ResourceIdentity:
    """Return the resource that the spec names now.

    A credential or a ConfigMap that the id does not need is not read, as it must not
    delay the object. Raises ConditionError `Failed` (Error) if the object has no Azure
    name, or if the spec names another resource than the claimed one; also the errors of
    `ReferenceResolver.config_map`.
    """
    patcher = scope.patcher
    claimed = patcher.arm_id
    may_move = bool(claimed) and scope.may_move
    name = stated_name(patcher.version, patcher.obj, may_move=may_move)
    # A claimed id keeps its subscription; the credential's is compared elsewhere.
    stated = ids.subscription_of(claimed) if claimed and not may_move else None
    return resource_identity(
        patcher.version,
        configured_name(patcher.obj, scope.references) if name is None else name,
        claimed,
        owner_id="" if owner is None else owner.arm_id,
        subscription_id=stated or scope.connection.subscription_id,
        may_move=may_move,
    )


def is_own(scope: ReconcileScope) -> bool:
    """Return whether the id in the annotation is this object's own.

    It is if the recorded claim names it, or if it follows from the spec and the owner.

    The annotation itself proves nothing, nor does the status: people can write both.
    Raises RetryError while the owner's kind is not listed yet.
    """
    patcher, claim = scope.patcher, scope.claim
    if claim is not None and ids.same(claim.arm_id, patcher.arm_id):
        return True
    try:
        if not ids.same(identify(scope, scope.owner()).arm_id, patcher.arm_id):
            return False
        if not (is_deleting(patcher.obj) and is_from_config(patcher.obj)):
            return True
        # The annotation with the ConfigMap's name can be edited, and a deletion cannot
        # be undone.
        return configured_name(patcher.obj, scope.references) == claimed_name(
            patcher.arm_id
        )
    except ConditionError:
        return False


def id_of(
    version: KindVersion,
    obj: JsonObject,
    *,
    claim: ClaimRecord | None,
    objects: Objects,
    subscription_of: Callable[[JsonObject], str],
) -> str:
    """Return the ARM id of another object, claimed or not.

    "" if the id is unknown, or if it differs from the annotation: then the object sends
    no request.

    claim: the object's recorded claim, which counts unless Azure accepted nothing.
    subscription_of: returns the subscription of an object's credential.
    Raises RetryError while its owner's kind is not listed yet.
    """
    if claim is not None and claim.answers is not PutAnswers.NONE:
        return claim.arm_id
    claimed = claimed_id(obj)
    try:
        owner = resolve_owner(version, obj, objects)
        stated = arm_id_of(
            version,
            name=name_of_other(version, obj, claimed),
            owner_id="" if owner is None else owner.arm_id,
            # Only these ids need the subscription: other kinds get it from the owner.
            subscription_id=subscription_of(obj) if version.scope == "Location" else "",
        )
    except (ConditionError, CredentialError, PathError):
        return ""
    is_free = claim is not None or not claimed
    return stated if is_free or ids.same(stated, claimed) else ""


def configured_name(obj: JsonObject, references: ReferenceResolver) -> str:
    """Return the Azure name in the ConfigMap that the spec refers to.

    Raises ConditionError `Failed`, and the errors of `ReferenceResolver.config_map`.
    """
    reference = spec(obj)["azureNameFromConfig"]
    name = references.config_map(reference)
    if not name:
        raise unusable(
            f"ConfigMap {reference.get('name')!r} gives an empty Azure name: fill key "
            f"{reference.get('key')!r}"
        )
    return _single(name)
