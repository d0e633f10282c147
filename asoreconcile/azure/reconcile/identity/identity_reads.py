"""Read what `identity` decides from: owner, ConfigMap, subscription. Blocking.

It reads only what is needed: a credential or a ConfigMap that an id does not depend on
must not hold up an object that has its id.
"""

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.paths import PathError
from asoreconcile.azure.catalogue.paths import arm_id as arm_id_of
from asoreconcile.azure.reconcile.identity.identity import (
    IdentityFacts,
    Proof,
    ResourceIdentity,
    claimed_id,
    claimed_name,
    configured_name,
    is_confirmed,
    name_of_other,
    proof_of,
    resource_identity,
    stated_name,
)
from asoreconcile.azure.reconcile.model.annotations import AZURE_NAME_FROM_CONFIG
from asoreconcile.azure.reconcile.model.owner import Owner, resolve_owner
from asoreconcile.azure.reconcile.scope.reconcile_scope import (
    ReconcileScope,
    SharedDependencies,
)
from asoreconcile.base.objects import JsonObject, spec


def identify(scope: ReconcileScope, owner: Owner | None) -> ResourceIdentity:
    """The resource that the spec names now.

    Raises ConditionError `Failed` (Error) when it has no name, or when it names another
    resource than the claimed one; also as `ReferenceResolver.config_map`.
    """
    facts = IdentityFacts(
        scope.version,
        scope.obj,
        scope.arm_id,
        scope.patcher.annotation(AZURE_NAME_FROM_CONFIG) or "",
    )
    name = stated_name(facts)
    return resource_identity(
        facts,
        _configured(scope) if name is None else name,
        owner_id="" if owner is None else owner.arm_id,
        subscription_id=_subscription(scope),
    )


def is_own(scope: ReconcileScope) -> bool:
    """Whether the claimed id is this object's own (`identity.proof_of`).

    Raises RetryError while the owner's kind is not listed yet.
    """
    proof = proof_of(scope.obj, scope.arm_id)
    if proof is Proof.STATUS:
        return True
    try:
        identify(scope, scope.owner())
        return proof is Proof.SPEC or _configured(scope) == claimed_name(scope.arm_id)
    except ConditionError:
        return False


def id_of(operator: SharedDependencies, version: KindVersion, obj: JsonObject) -> str:
    """The ARM id of another object, claimed or not; "" if it is unknown or differs from
    the annotation: such an object sends nothing.

    Raises RetryError while its owner's kind is not listed yet.
    """
    claimed = claimed_id(obj)
    if is_confirmed(obj, claimed):
        return claimed
    try:
        owner = resolve_owner(version, obj, operator.objects)
        stated = arm_id_of(
            version,
            name=name_of_other(version, obj, claimed),
            owner_id="" if owner is None else owner.arm_id,
            # Only these ids need the subscription: other kinds get it from the owner.
            subscription_id=operator.connections.for_object(obj).subscription_id
            if version.scope == "Location"
            else "",
        )
    except (ConditionError, CredentialError, PathError):
        return ""
    return stated if not claimed or ids.same(stated, claimed) else ""


def _configured(scope: ReconcileScope) -> str:
    reference = spec(scope.obj)["azureNameFromConfig"]
    return configured_name(reference, scope.references.config_map(reference))


def _subscription(scope: ReconcileScope) -> str:
    """The claimed id's subscription, else the credential's; the two are compared
    elsewhere.
    """
    stated = ids.subscription_of(scope.arm_id) if scope.arm_id else None
    return stated or scope.connection.subscription_id
