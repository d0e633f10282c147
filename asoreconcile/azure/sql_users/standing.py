"""Decide whether an object may manage, or drop, a user of the server. Pure."""

from enum import Enum, auto
from typing import Any

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.model.if_exists import IfExists, require_adoptable
from asoreconcile.azure.sql_users.dialect import Dialect
from asoreconcile.azure.sql_users.quoting import unusable
from asoreconcile.azure.sql_users.server import SignIn
from asoreconcile.azure.sql_users.user import (
    UserIdentity,
    UserRecord,
    UserState,
    shown_user,
)


class LoginStanding(Enum):
    """The relation of an object to the user that its spec names."""

    NEW = auto()  # the server has no such user
    OURS = auto()  # the object manages it already
    ASOS = auto()  # the object made it when Azure Service Operator reconciled it
    FOUND = auto()  # it was there before the object


@attrs.frozen
class Known:
    """The knowledge about an object's user.

    record: the record for this server, None if there is none. is_from_aso: whether
    Azure Service Operator reconciled the object, and nothing was recorded since.
    """

    record: UserRecord | None
    is_from_aso: bool

    @property
    def former(self) -> UserIdentity | None:
        """The user as it was recorded, None if none was."""
        return self.record.identity if self.record is not None else None

    @property
    def is_maker(self) -> bool:
        """Return whether the object created its user."""
        return self.is_from_aso if self.record is None else self.record.is_made


def standing(
    dialect: Dialect, known: Known, identity: UserIdentity, facts: Any | None
) -> LoginStanding:
    """Return the relation of an object to a user. facts: the server's facts of it."""
    if facts is None:
        return LoginStanding.NEW
    record = known.record
    if record is None:
        return LoginStanding.ASOS if known.is_from_aso else LoginStanding.FOUND
    is_ours = _is_recorded(dialect, record, identity, facts)
    return LoginStanding.OURS if is_ours else LoginStanding.FOUND


def _is_recorded(
    dialect: Dialect, record: UserRecord, identity: UserIdentity, facts: Any
) -> bool:
    """Return whether a record is about a user of the server, and not only a claim. A
    user that was dropped and made again by others has another identifier.
    """
    if record.state is UserState.CLAIMED:
        return False
    if facts.server_id or record.server_id:
        return bool(facts.server_id == record.server_id)
    return dialect.is_same(record.identity, identity)


def may_take(
    choice: IfExists, identity: UserIdentity, *, powers: str, differs: bool
) -> bool:
    """Return whether a user that was there before the object is written to; false if
    it is only read.

    powers: the rights by which it is an administrator, or "". differs: whether it does
    not match the spec.

    Raises ConditionError if the object must not have it.
    """
    where = "its options, roles or privileges" if differs else ""
    who = f"user {shown_user(identity)} of the server"
    if not require_adoptable(choice, who, differs=where):
        return False
    if powers:
        raise _not_taken(identity, f"it is an administrator ({powers})")
    return True


def require_ours(dialect: Dialect, identity: UserIdentity, facts: Any | None) -> None:
    """Raise for a user that no object may have: one of the server's own, a superuser,
    the administrator that the operator signs in as.
    """
    if why := never(dialect, identity, facts):
        raise _not_taken(identity, why)


def require_other(dialect: Dialect, identity: UserIdentity, sign_in: SignIn) -> None:
    """Raise for the administrator that the operator signs in as."""
    if dialect.is_user(identity, sign_in.user):
        raise _not_taken(identity, _SIGNED_IN)


def require_powerless(identity: UserIdentity, powers: str) -> None:
    """Raise for a user that Azure Service Operator managed, and that has rights of an
    administrator that its spec does not ask for.
    """
    if powers:
        raise _not_taken(
            identity,
            f"it is an administrator ({powers}), and the spec does not ask for that",
        )


def require_kept(dialect: Dialect, former: UserIdentity, now: UserIdentity) -> None:
    """Raise for a changed name; webhooks enforce the same rule, if they run."""
    if former["name"] != now["name"] and not dialect.renames:
        raise unusable(
            f"spec.azureName cannot change from {former['name']!r} to "
            f"{now['name']!r}: change it back, or delete the object and create it "
            "again"
        )


def require_free(former: UserIdentity, now: UserIdentity, facts: Any | None) -> None:
    """Raise if the new name of a user is taken. facts: the user with that name."""
    if facts is not None:
        raise unusable(
            f"user {shown_user(former)} cannot become {shown_user(now)}, which the "
            "server has already: drop one of them by hand, or change the name back"
        )


def never(dialect: Dialect, identity: UserIdentity, facts: Any | None) -> str:
    """Return why no object may have a user, or ""."""
    if facts is not None and facts.is_signed_in:
        return _SIGNED_IN
    return dialect.refusal(identity, facts)


def why_left(dialect: Dialect, known: Known, identity: UserIdentity, facts: Any) -> str:
    """Return why the deletion of an object does not drop a user that the server has;
    "" if it is dropped.
    """
    if not known.is_maker:
        return NOT_MADE
    if standing(dialect, known, identity, facts) is LoginStanding.FOUND:
        return "the server has another user of that name now"
    return never(dialect, identity, facts)


NOT_MADE = "there is no record that this object created it"
_SIGNED_IN = "it is the administrator that the operator signs in as"


def _not_taken(identity: UserIdentity, why: str) -> ConditionError:
    return unusable(
        f"user {shown_user(identity)} is not taken over: {why}; choose another "
        "azureName"
    )
