"""Compute the statements that a reconcile would send, for `asoctl plan`."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Any

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, unusable
from asoreconcile.azure.catalogue.names import azure_name
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.existence import (
    IfExists,
    require_adoptable,
    stated_policy,
)
from asoreconcile.azure.reconcile.planning.planned_change import (
    ChangeAction,
    PlannedChange,
)
from asoreconcile.azure.sql_users.dialect import Dialect, creation
from asoreconcile.azure.sql_users.failures import condition_of
from asoreconcile.azure.sql_users.lookups import UserKind, UserLookups
from asoreconcile.azure.sql_users.server import ServerError, Session, SignIn
from asoreconcile.azure.sql_users.sessions import Sessions
from asoreconcile.azure.sql_users.statement import Statement
from asoreconcile.azure.sql_users.user import (
    UserIdentity,
    UserRecord,
    UserState,
    is_from_aso,
    shown_user,
    stated_record,
)
from asoreconcile.base.objects import JsonObject, gvk_of, key_of, spec
from asoreconcile.redaction import HIDDEN


class LoginStanding(Enum):
    """The relation of an object to the user that its spec names."""

    NEW = auto()  # the server has no such user
    OURS = auto()  # the object manages it already
    ASOS = auto()  # the object made it when Azure Service Operator reconciled it
    FOUND = auto()  # it was there before the object


@attrs.frozen
class Known:
    """The record of an object's user, and its origin.

    record: the record for this server; None if nothing was recorded.
    is_from_aso: True if Azure Service Operator reconciled the object, and nothing was
    recorded since.
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
    """Return whether a record is about this user of the server, and not only a claim.

    A user that others have dropped and made again has another identifier.
    """
    if record.state is UserState.CLAIMED:
        return False
    if facts.server_id or record.server_id:
        return bool(facts.server_id == record.server_id)
    return dialect.is_same(record.identity, identity)


def may_take(
    choice: IfExists, identity: UserIdentity, *, powers: str, differs: bool
) -> bool:
    """Return whether the operator may change a user that existed before the object;
    false if it is only read.

    powers: the rights by which the user is an administrator, or "". differs: whether
    the user does not match the spec.

    Raises ConditionError if the object must not have the user.
    """
    where = "its options, roles or privileges" if differs else ""
    who = f"user {shown_user(identity)} of the server"
    if not require_adoptable(choice, who, differs=where):
        return False
    if powers:
        raise _not_taken(identity, f"it is an administrator ({powers})")
    return True


def require_ours(dialect: Dialect, identity: UserIdentity, facts: Any | None) -> None:
    """Raise ConditionError for a user that no object may have.

    Such users are the server's own, superusers, and the administrator that the operator
    signs in as.
    """
    if why := never(dialect, identity, facts):
        raise _not_taken(identity, why)


def require_other(dialect: Dialect, identity: UserIdentity, sign_in: SignIn) -> None:
    """Raise ConditionError for the administrator that the operator signs in as."""
    if dialect.is_user(identity, sign_in.user):
        raise _not_taken(identity, _SIGNED_IN)


def require_powerless(identity: UserIdentity, powers: str) -> None:
    """Raise ConditionError for a user of Azure Service Operator that has rights of an
    administrator which its spec does not ask for.
    """
    if powers:
        raise _not_taken(
            identity,
            f"it is an administrator ({powers}), and the spec does not ask for that",
        )


def require_kept(dialect: Dialect, former: UserIdentity, now: UserIdentity) -> None:
    """Raise ConditionError if the name has changed; webhooks enforce the same rule, if
    they run.
    """
    if former["name"] != now["name"] and not dialect.renames:
        raise unusable(
            f"spec.azureName cannot change from {former['name']!r} to "
            f"{now['name']!r}: change it back, or delete the object and create it "
            "again"
        )


def require_free(former: UserIdentity, now: UserIdentity, facts: Any | None) -> None:
    """Raise ConditionError if the new name of a user is taken. facts: the user with
    that name.
    """
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


FindLookups = Callable[[JsonObject], UserLookups]


@attrs.frozen
class UserPlanner:
    """Makes plans for the users of one kind. It signs in as the operator does, and only
    reads.
    """

    kind: UserKind
    sessions: Sessions
    lookups: FindLookups

    def __call__(
        self,
        plan: PlannedChange,
        obj: JsonObject,
        inputs: object,  # noqa: ARG002 - hides all secrets
        inherited: Mapping[str, str],
    ) -> PlannedChange:
        """Return the plan with the statements. The user's own password is not read.
        Blocking. inherited: annotations of the Namespace.

        Raises ConditionError, or the error of a lookup, if the plan cannot be made.
        """
        kind, dialect = self.kind, self.kind.dialect
        lookups = self.lookups(obj)
        server = kind.find_server(lookups)
        name = azure_name(lookups.catalogue.version(gvk_of(obj)), obj)
        desired = dialect.desired(name, spec(obj), password=HIDDEN)
        now: UserIdentity = desired.identity
        known = _known(obj, server.place)
        former = known.former or now
        sign_in = kind.find_sign_in(lookups, server)
        require_other(dialect, now, sign_in)
        require_kept(dialect, former, now)
        try:
            with self.sessions.borrow(key_of(obj), server, sign_in) as session:
                found = _read(dialect, session, desired, known)
        except ServerError as error:
            raise condition_of(error, server) from error
        choice = stated_policy(annotations(obj), inherited) or IfExists.ADOPT
        action, statements = decided(dialect, found, known, choice)
        shown = found.facts if found.facts is not None else found.before
        return attrs.evolve(
            plan,
            action=action,
            why=_why(action, f"{dialect.name} at {server}", shown_user(now)),
            statements=tuple(one.shown for one in statements),
            write_only=(
                () if shown is None else tuple(dialect.unread(found.desired, shown))
            ),
        )


@attrs.frozen
class Found:
    """The answers of a server about a user.

    desired: the user of the spec, completed with values of the server. facts: facts
    about the user that the spec names. before: facts about the former user, if it is
    recorded under another name. powers: the rights by which the user is an
    administrator, or "". excess: those of these rights that the spec does not ask for.
    """

    desired: Any
    facts: Any | None
    before: Any | None = None
    powers: str = ""
    excess: str = ""


def decided(
    dialect: Dialect, found: Found, known: Known, choice: IfExists = IfExists.ADOPT
) -> tuple[ChangeAction, Sequence[Statement]]:
    """Return the action that a reconcile would take, and its statements. Pure.

    Raises ConditionError for a change that the reconcile would refuse.
    """
    desired, facts, before = found.desired, found.facts, found.before
    now: UserIdentity = desired.identity
    former = known.former or now
    require_ours(dialect, now, facts)
    renamed: Sequence[Statement] = ()
    relation = standing(dialect, known, now, facts)
    if (
        before is not None
        and standing(dialect, known, former, before) is LoginStanding.OURS
    ):
        require_free(former, now, facts)
        require_ours(dialect, former, before)
        renamed, facts = dialect.rename(former, now), before
        relation = LoginStanding.OURS
    if facts is None:
        return "create", creation(dialect, desired)
    differences = dialect.differences(desired, facts)
    if relation is LoginStanding.ASOS:
        require_powerless(now, found.excess)
    if relation is LoginStanding.FOUND and not may_take(
        choice, now, powers=found.powers, differs=bool(differences)
    ):
        return "no change", ()
    said = (*renamed, *differences)
    if not said:
        return "no change", ()
    # Otherwise the server may have this password already, which is recorded as a hash.
    sets_password = relation is not LoginStanding.OURS or bool(renamed)
    return "update", (*said, *(dialect.passwords(desired) if sets_password else ()))


def _known(obj: JsonObject, place: str) -> Known:
    """Return the record that the object states; `asoctl` has no key to verify it."""
    record = stated_record(obj)
    if record is not None and record.place not in ("", place):
        record = None
    return Known(record, is_from_aso(obj))


def _read(dialect: Dialect, session: Session, desired: Any, known: Known) -> Found:
    if dialect.read_only:
        # Nothing here writes; a server that can see to it does.
        session.execute(Statement.of(dialect.read_only))
    desired = dialect.prepared(session, desired)
    now: UserIdentity = desired.identity
    former = known.former or now
    before = dialect.facts(session, former) if dict(former) != dict(now) else None
    facts = dialect.facts(session, now)
    powers = excess = ""
    if (
        facts is not None
        and standing(dialect, known, now, facts) is not LoginStanding.OURS
    ):
        powers = dialect.powers(session, desired, facts, unasked=False)
        excess = dialect.powers(session, desired, facts, unasked=True)
    return Found(desired, facts, before, powers, excess)


def _why(action: ChangeAction, server: str, user: str) -> str:
    match action:
        case "create":
            return f"{server} has no user {user}"
        case "update":
            return f"{server} has {user} otherwise"
        case _:
            return f"{server} has all of it"
