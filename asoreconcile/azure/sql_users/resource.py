"""Users of one type of server: an implementation of
`non_arm.resource.ExternalResource`.

A reconcile reads the user, sends the statements for the differences, and reads the user
again: a statement that the server accepted without effect (rights that another
administrator granted) does not count as done. Statements are sent one by one, and the
password last. After a refused statement, the others are still sent.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass, unusable
from asoreconcile.azure.catalogue.names import azure_name
from asoreconcile.azure.non_arm.extension_points import require_permission
from asoreconcile.azure.non_arm.owner_in_azure import owner_annotation
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.azure.reconcile.model.decisions import ReconcileOutcome, Succeeded
from asoreconcile.azure.reconcile.model.existence import IfExists, stated_policy
from asoreconcile.azure.reconcile.model.policy import LET_GO
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.sql_users.addresses import ServerAddresses
from asoreconcile.azure.sql_users.dialect import Dialect
from asoreconcile.azure.sql_users.failures import (
    RefusedStatementError,
    condition_of,
    refused_together,
)
from asoreconcile.azure.sql_users.lookups import UserKind, of_reconcile
from asoreconcile.azure.sql_users.planning import (
    NOT_MADE,
    Known,
    LoginStanding,
    may_take,
    require_free,
    require_kept,
    require_other,
    require_ours,
    require_powerless,
    standing,
    why_left,
)
from asoreconcile.azure.sql_users.server import (
    DatabaseServer,
    ServerError,
    Session,
    SignIn,
)
from asoreconcile.azure.sql_users.sessions import Sessions, SessionWork
from asoreconcile.azure.sql_users.sole_manager import (
    handed_over,
    manager_of,
    require_sole,
)
from asoreconcile.azure.sql_users.statement import Statement
from asoreconcile.azure.sql_users.user import (
    UserIdentity,
    UserRecord,
    UserState,
    is_from_aso,
    new_record,
    record_of,
    shown_user,
)
from asoreconcile.base import jsontext, reconcile_context
from asoreconcile.base.fencing import Fence
from asoreconcile.base.objects import JsonObject, ObjectKey, spec

_LEFT = "NotDeletedInDatabase"
_NONE: Mapping[str, str | None] = {}
_SHOWN = 3


class DatabaseUsers:
    """The users of one kind. Safe from any thread."""

    def __init__(
        self,
        kind: UserKind,
        sessions: Sessions,
        addresses: ServerAddresses,
        *,
        fence: Fence | None = None,
    ) -> None:
        """addresses: Azure's answers about servers.
        fence: called before each statement that changes anything.
        """
        self._dialect = kind.dialect
        self._sessions = sessions
        self._addresses = addresses
        self._find_server = kind.find_server
        self._find_sign_in = kind.find_sign_in
        self._fence = fence

    def apply(self, scope: ReconcileScope) -> ReconcileOutcome:
        """Create or change the user, and read it again for verification."""
        dialect, lookups = self._dialect, of_reconcile(scope, self._addresses)
        server = self._find_server(lookups)
        password = _password(scope)
        desired = dialect.desired(
            _name(scope), spec(scope.patcher.obj), password=password
        )
        sign_in = self._find_sign_in(lookups, server)
        require_other(dialect, desired.identity, sign_in)
        own, inherited = scope.patcher.annotations, scope.namespace_annotations
        choice = stated_policy(own, inherited) or IfExists.ADOPT

        def work(session: Session) -> None:
            user = _User(
                scope, dialect, self._fence, session, server.place, password, choice
            )
            user.apply(desired)

        self._run(scope, server, sign_in, work)
        return Succeeded()

    def observe(self, scope: ReconcileScope) -> None:
        """Raise ConditionError if the server has no such user."""
        record = _known(scope).record
        if record is not None and record.password:
            # Others may set a password meanwhile, and no server shows it.
            _store(scope, attrs.evolve(record, password=""))
        lookups = of_reconcile(scope, self._addresses)
        server = self._find_server(lookups)
        now = self._dialect.identity(_name(scope), spec(scope.patcher.obj))

        def work(session: Session) -> None:
            if self._dialect.facts(session, now) is None:
                raise ConditionError(
                    f"server {server} has no user {shown_user(now)}, and the policy "
                    f"{RECONCILE_POLICY} is skip: create it, or change the policy",
                    reason="AzureResourceNotFound",
                )

        self._run(scope, server, self._find_sign_in(lookups, server), work)

    def delete(self, scope: ReconcileScope) -> ReconcileOutcome:
        """Drop the user that this object has created, and no other."""
        dialect = self._dialect
        known = _known(scope)
        stated = dialect.identity(_name(scope), spec(scope.patcher.obj))
        identity = known.former or stated
        if not known.is_maker:
            # Without the server's word: the deletion must not depend on a server for
            # which nothing is to be done.
            return _leave(scope, identity, NOT_MADE)
        scope.patcher.add_remark(LET_GO)  # a server may be gone for ever
        lookups = of_reconcile(scope, self._addresses)
        server = self._find_server(lookups)
        if known.record is not None and known.record.place != server.place:
            why = f"it is on {known.record.place}, and the owner is {server.place} now"
            return _leave(scope, identity, why)
        sign_in = self._find_sign_in(lookups, server)
        if dialect.is_user(identity, sign_in.user):
            return _leave(
                scope, identity, "it is the administrator that the operator signs in as"
            )
        try:
            desired = dialect.desired(
                _name(scope), spec(scope.patcher.obj), password=""
            )
        except ConditionError as error:
            if known.record is None:
                return _leave(scope, identity, str(error))
            desired = None
        if other := manager_of(scope, dialect, server.place, identity, known):
            return _leave(scope, identity, f"{other} manages it")
        left = ""

        def work(session: Session) -> None:
            nonlocal left
            facts = dialect.facts(session, identity)
            if facts is None:
                return
            left = why_left(dialect, known, identity, facts)
            if not left and known.record is None:
                powers = dialect.powers(session, desired, facts, unasked=True)
                left = f"it is an administrator ({powers})" if powers else ""
            if left:
                return
            require_permission(scope)
            made = known.record or new_record(
                server.place, identity, scope.operator.clock.now()
            )
            made = attrs.evolve(
                made, state=UserState.MADE, server_id=facts.server_id, password=""
            )
            if heir := handed_over(scope, dialect, made):
                left = f"{heir} declares it too, and takes it over"
                return
            for statement in dialect.drop(identity):
                _say(session, statement, self._fence)
            shown = shown_user(identity)
            scope.event("Normal", "UserDropped", f"Dropped user {shown}")

        self._run(scope, server, sign_in, work)
        return _leave(scope, identity, left) if left else Succeeded()

    def forget(self, key: ObjectKey) -> None:
        """Close a connection that no other object uses."""
        self._sessions.forget(key)

    def close(self) -> None:
        """Close all connections."""
        self._sessions.close()

    def _run(
        self,
        scope: ReconcileScope,
        server: DatabaseServer,
        sign_in: SignIn,
        work: SessionWork,
    ) -> None:
        try:
            self._sessions.run(scope.patcher.key, server, sign_in, work)
        except RefusedStatementError as refused:
            shown = refused.statement.shown
            raise condition_of(refused, server, shown) from refused
        except ServerError as error:
            raise condition_of(error, server) from error


@attrs.define
class _User:
    """The work of one reconcile on one user, over one session."""

    scope: ReconcileScope
    dialect: Dialect
    fence: Fence | None
    session: Session
    place: str
    password: str = attrs.field(repr=False)
    choice: IfExists

    def apply(self, desired: Any) -> None:
        scope, dialect = self.scope, self.dialect
        desired = dialect.prepared(self.session, desired)
        now: UserIdentity = desired.identity
        known = _known(scope, self.place)
        former = known.former or now
        require_kept(dialect, former, now)
        require_sole(scope, dialect, self.place, now, known)
        facts = dialect.facts(self.session, now)
        require_ours(dialect, now, facts)
        if dict(former) != dict(now):
            facts = self._renamed(known, former, now, facts)
            known = _known(scope, self.place)
        found = standing(dialect, known, now, facts)
        if not self._may_write(found, desired, facts):
            return
        record = known.record or self._claim(now)
        if facts is None:
            self._store(record)
            self._require_sole(record)
            facts, record = self._created(desired, record)
        elif found is not LoginStanding.OURS:
            record = self._taken(found, record, facts)
            self._require_sole(record)
        refused = self._say_all(dialect.differences(desired, facts))
        refused += self._set_password(desired, record)
        if refused:
            raise refused_together(refused)
        self._require_done(desired)

    def _may_write(self, found: LoginStanding, desired: Any, facts: Any) -> bool:
        """Return whether the user is written to; false if it is only read."""
        now = desired.identity
        if found is LoginStanding.ASOS:
            powers = self._powers(desired, facts, unasked=True)
            require_powerless(now, powers)
        if found is not LoginStanding.FOUND:
            return True
        return may_take(
            self.choice,
            now,
            powers=self._powers(desired, facts, unasked=False),
            differs=bool(self.dialect.differences(desired, facts)),
        )

    def _powers(self, desired: Any, facts: Any, *, unasked: bool) -> str:
        return self.dialect.powers(self.session, desired, facts, unasked=unasked)

    def _claim(self, now: UserIdentity) -> UserRecord:
        """Return the record of a claim that begins now."""
        before = _known(self.scope).record
        if before is not None and before.is_made:
            why = f"it is on {before.place}, and the owner is {self.place} now"
            _leave(self.scope, before.identity, why)
        return new_record(self.place, now, self.scope.operator.clock.now())

    def _require_sole(self, record: UserRecord) -> None:
        """Raise ConditionError if another object has claimed the user at the same
        time.
        """
        known = Known(record, is_from_aso=False)
        require_sole(self.scope, self.dialect, self.place, record.identity, known)

    def _created(self, desired: Any, record: UserRecord) -> tuple[Any, UserRecord]:
        """Create the user, and record that once the server shows it."""
        now = desired.identity
        self._send(self.dialect.create(desired))
        facts = self.dialect.facts(self.session, now)
        if facts is None:
            raise _gone(now)
        record = attrs.evolve(
            record,
            identity=dict(now),
            state=UserState.MADE,
            server_id=facts.server_id,
        )
        record = self._with_password(record)
        self._store(record)
        self.scope.event("Normal", "UserCreated", f"Created user {shown_user(now)}")
        return facts, record

    def _taken(
        self, found: LoginStanding, record: UserRecord, facts: Any
    ) -> UserRecord:
        """Record a user that existed before. Only an object that Azure Service Operator
        managed counts as its creator.
        """
        is_made = found is LoginStanding.ASOS
        record = attrs.evolve(
            record,
            state=UserState.MADE if is_made else UserState.ADOPTED,
            server_id=facts.server_id,
            password="",
        )
        self._store(record)
        who = shown_user(record.identity)
        if found is LoginStanding.FOUND:
            text = f"Took over user {who}, which was there before: it is never dropped"
            self.scope.event("Normal", "UserAdopted", text)
        return record

    def _renamed(
        self, known: Known, former: UserIdentity, now: UserIdentity, facts: Any | None
    ) -> Any | None:
        """Rename a user that had another name until now, and return its facts."""
        dialect, scope, record = self.dialect, self.scope, known.record
        assert record is not None  # noqa: S101 - there is a former user
        if (
            standing(dialect, known, now, facts) is LoginStanding.OURS
            and record.server_id
        ):
            # It was renamed, and the process ended before that was recorded.
            self._store(attrs.evolve(record, identity=dict(now)))
            return facts
        before = dialect.facts(self.session, former)
        if standing(dialect, known, former, before) is not LoginStanding.OURS:
            self._store(new_record(self.place, now, scope.operator.clock.now()))
            return facts  # it is gone
        require_free(former, now, facts)
        require_ours(dialect, former, before)
        for statement in dialect.rename(former, now):
            self._send(statement)
        # Another name makes another digest of a password stored as MD5.
        self._store(attrs.evolve(record, identity=dict(now), password=""))
        text = f"Renamed user {shown_user(former)} to {shown_user(now)}"
        scope.event("Normal", "UserRenamed", text)
        return dialect.facts(self.session, now)

    def _set_password(
        self, desired: Any, record: UserRecord
    ) -> list[RefusedStatementError]:
        """Set the password unless the server took this one before."""
        statements = self.dialect.passwords(desired)
        key = self.scope.operator.record_key()
        said = self._password_text(record)
        if not statements or (
            record.password and key.is_hash_of(said, record.password)
        ):
            return []
        refused = self._say_all(statements)
        if not refused:
            self._store(self._with_password(record))
        return refused

    def _with_password(self, record: UserRecord) -> UserRecord:
        if not self.password:
            return record
        said = self._password_text(record)
        key = self.scope.operator.record_key()
        return attrs.evolve(record, password=key.keyed_hash(said))

    def _password_text(self, record: UserRecord) -> str:
        # Of one user alone: equal passwords of two users have different hashes.
        parts = [record.place, *sorted(record.identity.items()), record.server_id]
        return jsontext.dumps([*parts, self.password]).decode()

    def _send(self, statement: Statement) -> None:
        """Send one statement, if the checks of extensions permit writes."""
        require_permission(self.scope)
        _say(self.session, statement, self.fence)

    def _say_all(self, statements: Sequence[Statement]) -> list[RefusedStatementError]:
        """Send each statement; return those that the server refused.

        Raises RefusedStatementError for other failures, which the next
        statement would share.
        """
        refused: list[RefusedStatementError] = []
        for statement in statements:
            try:
                self._send(statement)
            except RefusedStatementError as error:
                if error.trouble != "refused":
                    raise
                refused.append(error)
        return refused

    def _require_done(self, desired: Any) -> None:
        facts = self.dialect.facts(self.session, desired.identity)
        who = shown_user(desired.identity)
        if facts is None:
            raise _gone(desired.identity)
        left = self.dialect.differences(desired, facts)
        if left:
            text = "; ".join(str(one) for one in left[:_SHOWN])
            raise ConditionError(
                f"the server took these and did not do them for {who}: {text}: another "
                "administrator gave them, or the one that the operator signs in as "
                "lacks the right",
                reason="RefusedByServer",
                retry=RetryClass.VERY_SLOW,
            )
        if facts.barred:
            raise ConditionError(
                f"user {who} cannot sign in: {facts.barred}",
                reason="UserCannotSignIn",
                retry=RetryClass.VERY_SLOW,
            )

    def _store(self, record: UserRecord) -> None:
        further = owner_annotation(self.scope) if record.is_made else {}
        _store(self.scope, record, further)


def _store(
    scope: ReconcileScope, record: UserRecord, further: Mapping[str, str | None] = _NONE
) -> None:
    patcher, key = scope.patcher, scope.operator.record_key()
    patcher.record({**record.annotation(patcher.obj, key), **further})


def _say(session: Session, statement: Statement, fence: Fence | None) -> None:
    """Send one statement that changes something. Raises RefusedStatementError."""
    reconcile_context.check()
    if fence is not None:
        fence()
    try:
        session.execute(statement)
    except ServerError as error:
        raise RefusedStatementError(error, statement) from error


def _known(scope: ReconcileScope, place: str = "") -> Known:
    """Return the knowledge about the object's user.

    place: server whose record counts; "" for any server.
    """
    obj = scope.patcher.obj
    record = record_of(obj, scope.operator.record_key)
    if record is not None and place and record.place != place:
        record = None
    return Known(record, is_from_aso(obj, scope.operator.build))


def _leave(scope: ReconcileScope, identity: UserIdentity, why: str) -> ReconcileOutcome:
    scope.event("Warning", _LEFT, f"User {shown_user(identity)} is left: {why}")
    return Succeeded()


def _gone(identity: UserIdentity) -> ConditionError:
    return ConditionError(
        f"user {shown_user(identity)} is gone again: another administrator drops it",
        reason="RefusedByServer",
    )


def _name(scope: ReconcileScope) -> str:
    return azure_name(scope.patcher.version, scope.patcher.obj)


def _password(scope: ReconcileScope) -> str:
    reference: JsonObject | None = (spec(scope.patcher.obj).get("localUser") or {}).get(
        "password"
    )
    if reference is None:
        return ""
    password = scope.references.secret(reference)
    if not password:
        raise unusable(
            f"key {reference.get('key')!r} of Secret {reference.get('name')!r} is "
            "empty: a user needs a password"
        )
    return password
