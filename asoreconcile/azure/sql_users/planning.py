"""Compute the statements that a reconcile would send, for `asoctl plan`."""

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from asoreconcile.azure.catalogue.kinds import Catalogue
from asoreconcile.azure.catalogue.names import azure_name
from asoreconcile.azure.reconcile.planning.planned_change import (
    ChangeAction,
    PlannedChange,
)
from asoreconcile.azure.sql_users.dialect import Dialect
from asoreconcile.azure.sql_users.failures import condition_of
from asoreconcile.azure.sql_users.lookups import UserKind, UserLookups
from asoreconcile.azure.sql_users.server import ServerError, Session
from asoreconcile.azure.sql_users.sessions import Sessions
from asoreconcile.azure.sql_users.statement import Statement
from asoreconcile.azure.sql_users.user import UserIdentity, made_by, shown_user
from asoreconcile.azure.sql_users.user_checks import (
    require_free,
    require_kept,
    require_other,
    require_ours,
)
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
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
        former = made_by(obj, now) or now
        sign_in = kind.find_sign_in(lookups, server)
        require_other(dialect, now, sign_in)
        require_kept(dialect, former, now)
        try:
            with self.sessions.borrow(key_of(obj), server, sign_in) as session:
                facts, before = _read(dialect, session, now, former)
        except ServerError as error:
            raise condition_of(error, server) from error
        action, statements = decided(dialect, desired, former, facts, before)
        found = facts if facts is not None else before
        return attrs.evolve(
            plan,
            action=action,
            why=_why(action, f"{dialect.name} at {server}", shown_user(now)),
            statements=tuple(one.shown for one in statements),
            write_only=() if found is None else tuple(dialect.unread(desired, found)),
        )


def decided(
    dialect: Dialect,
    desired: Any,
    former: UserIdentity,
    facts: Any | None,
    before: Any | None,
) -> tuple[ChangeAction, Sequence[Statement]]:
    """Return the action that a reconcile would take, and its statements. Pure.

    facts: of the user that the spec names.
    before: of the former user, if the object has created one under another name.

    Raises ConditionError for a change that the reconcile would refuse.
    """
    now: UserIdentity = desired.identity
    require_ours(dialect, now, facts)
    renamed: Sequence[Statement] = ()
    if former != now and before is not None:
        require_free(former, now, facts)
        require_ours(dialect, former, before)
        renamed, facts = dialect.rename(former, now), before
    said = (*renamed, *dialect.changes(desired, facts))
    if facts is None:
        return "create", said
    if renamed or dialect.differences(desired, facts):
        return "update", said
    return "no change", ()


def _read(
    dialect: Dialect, session: Session, now: UserIdentity, former: UserIdentity
) -> tuple[Any | None, Any | None]:
    if dialect.read_only:
        # Nothing here writes; a server that can see to it does.
        session.execute(Statement.of(dialect.read_only))
    before = dialect.facts(session, former) if former != now else None
    return dialect.facts(session, now), before


def _why(action: ChangeAction, server: str, user: str) -> str:
    match action:
        case "create":
            return f"{server} has no user {user}"
        case "update":
            return f"{server} has {user} otherwise"
        case _:
            return f"{server} has all of it"
