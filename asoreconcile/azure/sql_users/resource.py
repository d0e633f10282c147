"""Users of one type of server: an implementation of
`non_arm.resource.ExternalResource`.

A reconcile reads the user, sends the statements for the differences, and reads the user
again: a statement that the server accepted without effect (rights that another
administrator granted) does not count as done.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.catalogue.names import azure_name
from asoreconcile.azure.reconcile.identity.duplicates import REASON as ALREADY_MANAGED
from asoreconcile.azure.reconcile.identity.duplicates import age_of
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.azure.reconcile.model.decisions import ReconcileOutcome, Succeeded
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.sql_users.failures import condition_of
from asoreconcile.azure.sql_users.lookups import UserKind, of_reconcile
from asoreconcile.azure.sql_users.quoting import unusable
from asoreconcile.azure.sql_users.server import (
    DatabaseServer,
    ServerError,
    Session,
    SignIn,
)
from asoreconcile.azure.sql_users.sessions import Sessions
from asoreconcile.azure.sql_users.statement import Statement
from asoreconcile.azure.sql_users.user import UserIdentity, made_by, noted, shown_user
from asoreconcile.azure.sql_users.user_checks import (
    require_free,
    require_kept,
    require_other,
    require_ours,
)
from asoreconcile.base import reconcile_context
from asoreconcile.base.fencing import Fence
from asoreconcile.base.objects import ObjectKey, spec

_LEFT = "NotDeletedInDatabase"
_SHOWN = 3


class DatabaseUsers:
    """The users of one kind. Safe from any thread."""

    def __init__(
        self,
        kind: UserKind,
        sessions: Sessions,
        *,
        fence: Fence | None = None,
    ) -> None:
        """fence: called before each statement that changes anything."""
        self._dialect = kind.dialect
        self._sessions = sessions
        self._find_server = kind.find_server
        self._find_sign_in = kind.find_sign_in
        self._fence = fence
        self._managers = _Managers()

    def apply(self, scope: ReconcileScope) -> ReconcileOutcome:
        """Create or change the user, and read it again for verification."""
        dialect, lookups = self._dialect, of_reconcile(scope)
        server = self._find_server(lookups)
        name = azure_name(scope.patcher.version, scope.patcher.obj)
        desired = dialect.desired(
            name, spec(scope.patcher.obj), password=_password(scope)
        )
        now: UserIdentity = desired.identity
        former = made_by(scope.patcher.obj, now) or now
        sign_in = self._find_sign_in(lookups, server)
        require_other(dialect, now, sign_in)
        require_kept(dialect, former, now)
        self._managers.require_sole(scope, (server, tuple(sorted(now.items()))))
        with self._session(scope, server, sign_in) as session:
            facts = dialect.facts(session, now)
            require_ours(dialect, now, facts)
            is_new = facts is None
            if former != now:
                facts = self._renamed(scope, session, former, now, facts)
            # Whoever finds the user from here on knows whose it is.
            scope.patcher.record(noted(now))
            desired = dialect.prepared(session, desired)
            self._say(session, dialect.changes(desired, facts))
            self._require_done(session, desired)
        if is_new and former == now:
            scope.event("Normal", "UserCreated", f"Created user {shown_user(now)}")
        return Succeeded()

    def observe(self, scope: ReconcileScope) -> None:
        """Raise ConditionError if the server has no such user."""
        lookups = of_reconcile(scope)
        server = self._find_server(lookups)
        name = azure_name(scope.patcher.version, scope.patcher.obj)
        now = self._dialect.identity(name, spec(scope.patcher.obj))
        with self._session(
            scope, server, self._find_sign_in(lookups, server)
        ) as session:
            if self._dialect.facts(session, now) is None:
                raise ConditionError(
                    f"server {server} has no user {shown_user(now)}, and the policy "
                    f"{RECONCILE_POLICY} is skip: create it, or change the policy",
                    reason="AzureResourceNotFound",
                )

    def delete(self, scope: ReconcileScope) -> ReconcileOutcome:
        """Drop the user that this object has created, and no other."""
        dialect = self._dialect
        name = azure_name(scope.patcher.version, scope.patcher.obj)
        made = made_by(
            scope.patcher.obj, dialect.identity(name, spec(scope.patcher.obj))
        )
        if made is None:
            return Succeeded()  # it has made none
        lookups = of_reconcile(scope)
        server = self._find_server(lookups)
        sign_in = self._find_sign_in(lookups, server)
        if self._managers.older(scope, (server, tuple(sorted(made.items())))):
            return self._leave(scope, made, "an older object manages it")
        with self._session(scope, server, sign_in) as session:
            facts = dialect.facts(session, made)
            if facts is None:
                return Succeeded()
            refusal = dialect.refusal(made, facts)
            if dialect.is_user(made, sign_in.user):
                refusal = "it is the administrator that the operator signs in as"
            if refusal:
                return self._leave(scope, made, refusal)
            self._say(session, dialect.drop(made))
        scope.event("Normal", "UserDropped", f"Dropped user {shown_user(made)}")
        return Succeeded()

    def forget(self, key: ObjectKey) -> None:
        """Remove the state of an object, and close a connection that no other object
        uses.
        """
        self._managers.forget(key)
        self._sessions.forget(key)

    def close(self) -> None:
        """Close all connections."""
        self._sessions.close()

    @contextmanager
    def _session(
        self, scope: ReconcileScope, server: DatabaseServer, sign_in: SignIn
    ) -> Iterator[Session]:
        try:
            with self._sessions.borrow(scope.patcher.key, server, sign_in) as session:
                yield session
        except _RefusedError as refused:
            shown = refused.statement.shown
            raise condition_of(refused, server, shown) from refused
        except ServerError as error:
            raise condition_of(error, server) from error

    def _say(self, session: Session, statements: Sequence[Statement]) -> None:
        for statement in statements:
            reconcile_context.check()
            if self._fence is not None:
                self._fence()
            try:
                session.execute(statement)
            except ServerError as error:
                raise _RefusedError(error, statement) from error

    def _renamed(
        self,
        scope: ReconcileScope,
        session: Session,
        former: UserIdentity,
        now: UserIdentity,
        facts: Any | None,
    ) -> Any | None:
        """Rename a user that had another name until now, and return its facts."""
        dialect = self._dialect
        before = dialect.facts(session, former)
        if before is None:
            return facts  # renamed already, or gone
        require_free(former, now, facts)
        require_ours(dialect, former, before)
        self._say(session, dialect.rename(former, now))
        scope.event(
            "Normal",
            "UserRenamed",
            f"Renamed user {shown_user(former)} to {shown_user(now)}",
        )
        return dialect.facts(session, now)

    def _require_done(self, session: Session, desired: Any) -> None:
        facts = self._dialect.facts(session, desired.identity)
        who = shown_user(desired.identity)
        if facts is None:
            raise ConditionError(
                f"user {who} is gone again: somebody else drops it",
                reason="RefusedByServer",
            )
        left = self._dialect.differences(desired, facts)
        if left:
            text = "; ".join(str(one) for one in left[:_SHOWN])
            raise ConditionError(
                f"the server took these and did not do them for {who}: {text}: another "
                "administrator gave them, or the one that the operator signs in as "
                "lacks the right",
                reason="RefusedByServer",
                retry=RetryClass.VERY_SLOW,
            )

    def _leave(
        self, scope: ReconcileScope, identity: UserIdentity, why: str
    ) -> ReconcileOutcome:
        scope.event("Warning", _LEFT, f"User {shown_user(identity)} is left: {why}")
        return Succeeded()


class _RefusedError(ServerError):
    """A server error with the statement that was refused."""

    def __init__(self, error: ServerError, statement: Statement) -> None:
        super().__init__(str(error), trouble=error.trouble, code=error.code)
        self.statement = statement


_Place = tuple[DatabaseServer, tuple[tuple[str, str], ...]]


class _Managers:
    """The objects for each user: if there are two, the older one manages the user.

    In memory: after a restart each object is recorded with its first reconcile.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at: dict[_Place, dict[ObjectKey, tuple[str, str]]] = {}
        self._place_of: dict[ObjectKey, _Place] = {}

    def require_sole(self, scope: ReconcileScope, place: _Place) -> None:
        """Raise ConditionError `AlreadyManaged` while there is an older object."""
        older = self.older(scope, place)
        if older is not None:
            raise ConditionError(
                f"user {shown_user(dict(place[1]))} of server {place[0]} is managed by "
                f"{older}, which is older: delete one of the two",
                reason=ALREADY_MANAGED,
            )

    def older(self, scope: ReconcileScope, place: _Place) -> ObjectKey | None:
        key, mine = scope.patcher.key, age_of(scope.patcher.obj)
        with self._lock:
            self._leave(key)
            there = self._at.setdefault(place, {})
            there[key] = mine
            self._place_of[key] = place
            return next((other for other, age in there.items() if age < mine), None)

    def forget(self, key: ObjectKey) -> None:
        with self._lock:
            self._leave(key)

    def _leave(self, key: ObjectKey) -> None:
        """Remove an object. The caller holds the lock."""
        place = self._place_of.pop(key, None)
        if place is not None:
            self._at[place].pop(key, None)
            if not self._at[place]:
                del self._at[place]


def _password(scope: ReconcileScope) -> str:
    reference = (spec(scope.patcher.obj).get("localUser") or {}).get("password")
    if reference is None:
        return ""
    password = scope.references.secret(reference)
    if not password:
        raise unusable(
            f"key {reference.get('key')!r} of Secret {reference.get('name')!r} is "
            "empty: a user needs a password"
        )
    return password
