"""Compute the statements that a reconcile would send, for `asoctl plan`."""

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from asoreconcile.azure.catalogue.kinds import Catalogue
from asoreconcile.azure.catalogue.names import azure_name
from asoreconcile.azure.reconcile.model.if_exists import (
    IfExists,
    if_exists_of,
)
from asoreconcile.azure.reconcile.planning.planned_change import (
    ChangeAction,
    PlannedChange,
)
from asoreconcile.azure.sql_users.dialect import Dialect, creation
from asoreconcile.azure.sql_users.failures import condition_of
from asoreconcile.azure.sql_users.lookups import UserKind, UserLookups
from asoreconcile.azure.sql_users.server import ServerError, Session
from asoreconcile.azure.sql_users.sessions import Sessions
from asoreconcile.azure.sql_users.standing import (
    Known,
    LoginStanding,
    may_take,
    require_free,
    require_kept,
    require_other,
    require_ours,
    require_powerless,
    standing,
)
from asoreconcile.azure.sql_users.statement import Statement
from asoreconcile.azure.sql_users.user import (
    UserIdentity,
    is_from_aso,
    shown_user,
    stated_record,
)
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    annotations,
    gvk_of,
    key_of,
    spec,
)
from asoreconcile.redaction import HIDDEN


@attrs.frozen
class PlanSources:
    """The lookups of a plan. Each call may block, and raises an error that says why it
    fails.

    owner: returns the owner of an object, None for one by ARM id.
    find: returns an object.
    status: returns the status of an object.
    secret: returns a Secret's value, for a reference and a namespace.
    token: returns a token for an audience.
    """

    catalogue: Catalogue
    owner: Callable[[JsonObject], JsonObject | None]
    find: Callable[[GroupKind, ObjectKey], JsonObject | None]
    status: Callable[[JsonObject], JsonObject]
    secret: Callable[[JsonObject, str], str]
    token: Callable[[str], str]

    def lookups(self, obj: JsonObject) -> UserLookups:
        """Return the lookups for one object."""
        return UserLookups(
            catalogue=self.catalogue,
            obj=obj,
            owner=lambda: self.owner(obj),
            find=self.find,
            status=self.status,
            secret=lambda reference: self.secret(reference, key_of(obj).namespace),
            token=lambda audience: (self.token(audience), "asoctl"),
        )


@attrs.frozen
class UserPlanner:
    """Plans for the users of one kind. Signs in as the operator does, and only
    reads.
    """

    kind: UserKind
    sessions: Sessions
    sources: PlanSources

    def __call__(
        self,
        plan: PlannedChange,
        obj: JsonObject,
        inputs: object,  # noqa: ARG002 - hides all secrets
    ) -> PlannedChange:
        """Return the plan with the statements. The user's own password is not read.
        Blocking.

        Raises ConditionError, or the error of a source, if the plan cannot be made.
        """
        kind, dialect = self.kind, self.kind.dialect
        lookups = self.sources.lookups(obj)
        server = kind.find_server(lookups)
        name = azure_name(self.sources.catalogue.version(gvk_of(obj)), obj)
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
        action, statements = decided(
            dialect, found, known, if_exists_of(annotations(obj), {})
        )
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

    desired: the user of the spec, with values of the server. facts: the user that the
    spec names. before: the former user, if it is recorded under another name.
    powers: the rights by which the user is an administrator, or "". excess: those of
    them that the spec does not ask for.
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
    """Return what the object states; `asoctl` has no key to verify a record."""
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
        powers = dialect.powers(session, desired, facts, as_asked=False)
        excess = dialect.powers(session, desired, facts, as_asked=True)
    return Found(desired, facts, before, powers, excess)


def _why(action: ChangeAction, server: str, user: str) -> str:
    match action:
        case "create":
            return f"{server} has no user {user}"
        case "update":
            return f"{server} has {user} otherwise"
        case _:
            return f"{server} has all of it"
