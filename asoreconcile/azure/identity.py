"""Which Azure resource an object represents: its name and its ARM id.

Both follow from the spec and the owner. Once claimed they must not move: a PUT to
another id would make a second resource and leave the first behind (write-once, R10.1).
"""

import attrs

from asoreconcile.arm import ids
from asoreconcile.arm.condition_error import ConditionError
from asoreconcile.arm.credentials import CredentialError
from asoreconcile.azure.annotations import AZURE_NAME_FROM_CONFIG, RESOURCE_ID
from asoreconcile.azure.owner import Owner, resolve_owner
from asoreconcile.azure.reconcile_scope import ReconcileScope, SharedDependencies
from asoreconcile.catalogue.kinds import KindVersion
from asoreconcile.catalogue.names import azure_name, is_named_by_uuid
from asoreconcile.catalogue.paths import PathError
from asoreconcile.catalogue.paths import arm_id as arm_id_of
from asoreconcile.objects import JsonObject, annotations, is_deleting, spec, status


@attrs.frozen
class ResourceIdentity:
    """The Azure name (last path segment) and the full ARM id."""

    name: str
    arm_id: str


def identify(scope: ReconcileScope, owner: Owner | None) -> ResourceIdentity:
    """The resource that the spec names now.

    Raises ConditionError `Failed` (Error) when it has no name, or when it names another
    resource than the one claimed.
    """
    name = _single(_name(scope))
    arm_id = arm_id_of(
        scope.version,
        name=name,
        owner_id="" if owner is None else owner.arm_id,
        subscription_id=_subscription(scope),
    )
    claimed = scope.arm_id
    if claimed and not _same(claimed, arm_id):
        raise _failed(
            f"spec.azureName or spec.owner now names {arm_id}, but this object manages "
            f"{claimed}: change it back, or delete the object and create it anew"
        )
    # As it was claimed: Azure compares without case, and the annotation must not flap.
    return ResourceIdentity(name, claimed or arm_id)


def is_own(scope: ReconcileScope) -> bool:
    """Whether the claimed id is this object's own.

    It is in an annotation, which whoever edits the object may write. So it must be
    what the object's owner and name make; or, where that is not known any more (the
    owner is gone, the spec was edited), what the status says, which only the operator
    writes.
    Raises RetryError while the owner's kind is not listed yet.
    """
    seen = status(scope.obj).get("id")
    if isinstance(seen, str) and seen and ids.same(seen, scope.arm_id):
        return True
    if is_deleting(scope.obj) and is_from_config(scope.obj):
        return _is_configured(scope)
    try:
        identify(scope, scope.owner())
    except ConditionError:
        return False
    return True


def _is_configured(scope: ReconcileScope) -> bool:
    """As `is_own`, by what the ConfigMap says now: what it said once is noted where
    anybody may write.
    """
    reference = spec(scope.obj)["azureNameFromConfig"]
    try:
        identify(scope, scope.owner())
        return _configured(scope, reference) == scope.arm_id.rpartition("/")[2]
    except ConditionError:
        return False


def id_of(operator: SharedDependencies, version: KindVersion, obj: JsonObject) -> str:
    """The ARM id that another object stands for, claimed or not; "" if it cannot be
    told, or if the annotation says another: such an object sends nothing.

    Raises RetryError while its owner's kind is not listed yet.
    """
    claimed = annotations(obj).get(RESOURCE_ID) or ""
    seen = status(obj).get("id")
    if claimed and isinstance(seen, str) and seen and ids.same(seen, claimed):
        return claimed
    made_up = is_named_by_uuid(version.group_kind) and not spec(obj).get("azureName")
    keeps_name = claimed and (made_up or is_from_config(obj))
    try:
        owner = resolve_owner(version, obj, operator.objects)
        stated = arm_id_of(
            version,
            name=claimed.rpartition("/")[2] if keeps_name else azure_name(version, obj),
            owner_id="" if owner is None else owner.arm_id,
            subscription_id=operator.connections.for_object(obj).subscription_id
            if version.scope == "Location"
            else "",
        )
    except (ConditionError, CredentialError, PathError):
        return ""
    return stated if not claimed or ids.same(stated, claimed) else ""


def is_from_config(obj: JsonObject) -> bool:
    """Whether the Azure name is what a ConfigMap said at the claim. Pure."""
    stated = spec(obj)
    return bool(stated.get("azureNameFromConfig")) and not stated.get("azureName")


def _name(scope: ReconcileScope) -> str:
    """The Azure name; names made up or read at the claim stay as they were then.

    A UUID is drawn, or made up differently by another version of the kind.
    """
    stated, from_config = spec(scope.obj), is_from_config(scope.obj)
    made_up = is_named_by_uuid(scope.version.group_kind) and not stated.get("azureName")
    if scope.arm_id and (made_up or from_config):
        return scope.arm_id.rpartition("/")[2]
    if from_config:
        # A lost resource-id is written anew: the ConfigMap may say another name by now.
        noted = scope.patcher.annotation(AZURE_NAME_FROM_CONFIG)
        return noted or _configured(scope, stated["azureNameFromConfig"])
    name = azure_name(scope.version, scope.obj)
    if not name:
        raise _failed("the Azure name cannot be derived: set spec.azureName")
    return name


def _single(name: str) -> str:
    """A name that is one segment: more would make another resource of it."""
    if problem := ids.segment_problem(name):
        raise _failed(f"no resource can be called {name!r}: the name {problem}")
    return name


def _configured(scope: ReconcileScope, reference: JsonObject) -> str:
    name = scope.references.config_map(reference)
    if not name:
        raise _failed(
            f"ConfigMap {reference.get('name')!r} gives an empty Azure name: fill key "
            f"{reference.get('key')!r}"
        )
    return name


def _subscription(scope: ReconcileScope) -> str:
    """A claimed id keeps its subscription; the credential's is checked against it."""
    stated = ids.subscription_of(scope.arm_id) if scope.arm_id else None
    return stated or scope.connection.subscription_id


def _same(claimed: str, arm_id: str) -> bool:
    try:
        ids.parse_stated(claimed)
    except ids.ArmIdError as error:
        raise _failed(
            f"annotation {RESOURCE_ID} is no ARM id ({error}): remove it, and it is "
            "written anew"
        ) from error
    return ids.same(claimed, arm_id)


def _failed(message: str) -> ConditionError:
    return ConditionError(message, reason="Failed", severity="Error")
