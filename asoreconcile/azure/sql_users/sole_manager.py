"""Decides which of several objects for one user manages it: the object that recorded
its claim first.

The other one sends nothing to the server while the first one exists and writes. An
object that Azure Service Operator managed counts as the manager if nothing is recorded.
The records are in the cluster, so that a restart changes nothing.
"""

from typing import Any

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.names import azure_name
from asoreconcile.azure.non_arm.hand_over import heir_of, report_heir
from asoreconcile.azure.non_arm.owner_in_azure import owner_annotation
from asoreconcile.azure.reconcile.identity.duplicates import (
    ACCEPTED,
    SHOWN,
    Rank,
    Rival,
    age_of,
    manager_among,
    writes,
)
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.standing import ALREADY_MANAGED
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.sql_users.dialect import Dialect
from asoreconcile.azure.sql_users.planning import Known
from asoreconcile.azure.sql_users.user import (
    UserIdentity,
    UserRecord,
    is_from_aso,
    record_of,
    shown_user,
)
from asoreconcile.base.objects import JsonObject, ObjectKey, key_of, spec, uid_of


def require_sole(
    scope: ReconcileScope,
    dialect: Dialect,
    place: str,
    identity: UserIdentity,
    known: Known,
) -> None:
    """Raise ConditionError `AlreadyManaged` while another object manages the user.

    Arguments and other errors are those of `manager_of`.
    """
    other = manager_of(scope, dialect, place, identity, known)
    if other is not None:
        raise ConditionError(
            f"user {shown_user(identity)} of server {place} is managed by {other}, "
            "which claimed it first: delete one of the two",
            reason=ALREADY_MANAGED,
        )


def manager_of(
    scope: ReconcileScope,
    dialect: Dialect,
    place: str,
    identity: UserIdentity,
    known: Known,
) -> ObjectKey | None:
    """Return the other object that manages the user, None if there is none.

    place: see `DatabaseServer.place`. When the other object goes, this object is
    reconciled again.
    Raises RetryError while objects of the kind are not listed yet.
    """
    operator, obj, me = scope.operator, scope.patcher.obj, scope.patcher.node
    rivals = [
        Rival(
            ObjectReference(me.group_kind, key_of(other)),
            other,
            _rank(scope, dialect, place, identity, version, other),
        )
        for version, other in operator.objects_of(me.group_kind)
        if uid_of(other) != uid_of(obj) and writes(operator, other)
    ]
    first = manager_among(_own_rank(dialect, obj, identity, known), rivals)
    if first is None:
        operator.waiting.forget(me)
        return None
    operator.waiting.note(me, first.node)
    return first.node.key


def _own_rank(
    dialect: Dialect, obj: JsonObject, identity: UserIdentity, known: Known
) -> Rank | None:
    """Return the rank of this object's claim; None if it has none."""
    record = known.record
    if record is not None and dialect.is_same(record.identity, identity):
        return ACCEPTED, record.since, uid_of(obj)
    return (SHOWN, *age_of(obj)) if known.is_from_aso else None


def _rank(  # noqa: PLR0917 - the two sides of a comparison
    scope: ReconcileScope,
    dialect: Dialect,
    place: str,
    identity: UserIdentity,
    version: KindVersion,
    other: JsonObject,
) -> Rank | None:
    """Return the rank of another object's claim to the user; None if it has none."""
    operator = scope.operator
    record = record_of(other, operator.record_key)
    if record is not None:
        is_same = record.place == place and dialect.is_same(record.identity, identity)
        return (ACCEPTED, record.since, uid_of(other)) if is_same else None
    if not is_from_aso(other, operator.build):
        return None
    is_same = _declares(scope, dialect, identity, version, other)
    return (SHOWN, *age_of(other)) if is_same else None


def handed_over(
    scope: ReconcileScope, dialect: Dialect, record: UserRecord
) -> ObjectKey | None:
    """Return the other object to which the user of a deleted one is handed over; None
    if there is no such object.

    The other object gets the record of the user's creation. record: the deleted
    object's, with the present identifier of the user.
    """
    operator = scope.operator

    def declares(version: KindVersion, other: JsonObject) -> bool:
        before = record_of(other, operator.record_key)
        is_free = before is None or dialect.is_same(before.identity, record.identity)
        return is_free and _declares(scope, dialect, record.identity, version, other)

    heir = heir_of(scope, declares)
    if heir is None:
        return None
    # In the heir's spelling: servers compare names in ways of their own.
    stated = _stated(dialect, scope.patcher.version, heir)
    record = attrs.evolve(record, identity=dict(stated))
    stored = record.annotation(heir, operator.record_key()) | owner_annotation(scope)
    meta = {"uid": uid_of(heir), "annotations": stored}
    operator.client.patch(scope.kind.resource, key_of(heir), {"metadata": meta})
    report_heir(scope, heir)
    return key_of(heir)


def _declares(
    scope: ReconcileScope,
    dialect: Dialect,
    identity: UserIdentity,
    version: KindVersion,
    other: JsonObject,
) -> bool:
    """Return whether the spec of another object declares the user, below the same
    owner.
    """
    is_same_owner = _owner(other) == _owner(scope.patcher.obj)
    return is_same_owner and dialect.is_same(_stated(dialect, version, other), identity)


def _stated(dialect: Dialect, version: KindVersion, obj: JsonObject) -> UserIdentity:
    return dialect.identity(azure_name(version, obj), spec(obj))


def _owner(obj: JsonObject) -> tuple[str, Any]:
    return key_of(obj).namespace, (spec(obj).get("owner") or {}).get("name")
