"""Decides which of several objects for one user manages it: the object that recorded
its claim first.

The other one sends nothing to the server while the first one exists and writes. An
object that Azure Service Operator managed counts as the manager if nothing is recorded.
The records are in the cluster, so that a restart changes nothing.
"""

from typing import Any

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.names import azure_name
from asoreconcile.azure.reconcile.identity.duplicates import REASON, age_of
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.policy import policy_of
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.sql_users.dialect import Dialect
from asoreconcile.azure.sql_users.planning import Known
from asoreconcile.azure.sql_users.user import (
    UserIdentity,
    is_from_aso,
    record_of,
    shown_user,
)
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    annotations,
    key_of,
    spec,
    uid_of,
)

_Rank = tuple[bool, tuple[str, str]]
"""Smaller comes first: recorded claims before Azure Service Operator's, and older
before younger ones.
"""


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
            reason=REASON,
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
    operator, obj = scope.operator, scope.patcher.obj
    me = ObjectReference(scope.kind.version.group_kind, scope.patcher.key)
    mine = _own_rank(dialect, obj, identity, known)
    rivals = [
        (rank, other)
        for version, other in operator.objects_of(scope.kind.version.group_kind)
        if uid_of(other) != uid_of(obj)
        and (rank := _rank(scope, dialect, place, identity, version, other)) is not None
        and (mine is None or rank < mine)
    ]
    if not rivals:
        operator.waiting.forget(me)
        return None
    first = min(rivals, key=lambda one: one[0])[1]
    operator.waiting.note(
        me, ObjectReference(scope.kind.version.group_kind, key_of(first))
    )
    return key_of(first)


def _own_rank(
    dialect: Dialect, obj: JsonObject, identity: UserIdentity, known: Known
) -> _Rank | None:
    """Return the rank of this object's claim; None if it has none."""
    record = known.record
    if record is not None and dialect.is_same(record.identity, identity):
        return False, (record.since, uid_of(obj))
    return (True, age_of(obj)) if known.is_from_aso else None


def _rank(  # noqa: PLR0917 - the two sides of a comparison
    scope: ReconcileScope,
    dialect: Dialect,
    place: str,
    identity: UserIdentity,
    version: KindVersion,
    other: JsonObject,
) -> _Rank | None:
    """Return the rank of another object's claim to the user; None if it has none."""
    operator = scope.operator
    policy = policy_of(
        annotations(other),
        operator.namespace_annotations(key_of(other).namespace),
        operator.default_policy,
    )
    # An object whose policy cannot be read keeps its user: it may write again.
    if policy is not None and not policy.writes:
        return None
    record = record_of(other, operator.record_key)
    if record is not None:
        is_same = record.place == place and dialect.is_same(record.identity, identity)
        return (False, (record.since, uid_of(other))) if is_same else None
    if not is_from_aso(other, operator.build):
        return None
    is_same = _owner(other) == _owner(scope.patcher.obj) and dialect.is_same(
        dialect.identity(azure_name(version, other), spec(other)), identity
    )
    return (True, age_of(other)) if is_same else None


def _owner(obj: JsonObject) -> tuple[str, Any]:
    return key_of(obj).namespace, (spec(obj).get("owner") or {}).get("name")
