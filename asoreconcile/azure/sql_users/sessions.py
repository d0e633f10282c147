"""Keep connections by server and credential, and close them with their last user.

No thread waits for a connection. If all connections of a server are in use, the caller
retries a moment later. If a connection to a server failed just now, the caller gets the
same error at once, so that a server that hangs blocks at most as many workers as it may
have connections. A connection that broke says nothing about the server, so only its own
caller gets that error.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from math import inf

import attrs

from asoreconcile.azure.sql_users.server import (
    DatabaseServer,
    OpenSession,
    ServerError,
    Session,
    SignIn,
)
from asoreconcile.base import reconcile_context
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import AsoreconcileError, RetryError
from asoreconcile.base.objects import ObjectKey

MOST_SESSIONS = 2
# Azure's load balancers forget connections after four minutes.
IDLE_SECONDS = 120.0
# For how long a server that did not answer is not asked again.
SILENT_SECONDS = 20.0
_TAKEN_SECONDS = 0.5

_Place = tuple[DatabaseServer, str]
SessionWork = Callable[[Session], None]
"""The use of a session; may be called twice, each time from the beginning."""


@attrs.define(eq=False)
class _Pool:
    """The connections of one server and credential."""

    idle: list[tuple[Session, float]] = attrs.field(factory=list)
    taken: int = 0
    users: set[ObjectKey] = attrs.field(factory=set)
    silent_until: float = 0.0
    silence: ServerError | None = None


class Sessions:
    """All connections of one kind. Safe from any thread."""

    def __init__(self, connect: OpenSession, *, clock: Clock) -> None:
        self._connect = connect
        self._clock = clock
        self._lock = threading.Lock()
        self._pools: dict[_Place, _Pool] = {}
        self._place_of: dict[ObjectKey, _Place] = {}
        self._closed = False

    def run(
        self,
        user: ObjectKey,
        server: DatabaseServer,
        sign_in: SignIn,
        work: SessionWork,
    ) -> None:
        """Call `work` with a session.

        A kept connection may have died meanwhile: if it breaks, the work is done again
        on a new one, once. Raises as `borrow`, and the errors of `work`.
        """
        is_kept = False
        try:
            with self._lent(user, server, sign_in, is_new=False) as (session, is_kept):
                work(session)
        except ServerError as error:
            if error.trouble != "lost" or not is_kept:
                raise
        else:
            return
        with self._lent(user, server, sign_in, is_new=True) as (session, _):
            work(session)

    @contextmanager
    def borrow(
        self, user: ObjectKey, server: DatabaseServer, sign_in: SignIn
    ) -> Iterator[Session]:
        """Lend a session to one object's reconcile. Blocks while a session is opened.

        Raises ServerError, also for a connection that failed a moment ago; RetryError
        while all of the server's sessions are in use.
        """
        with self._lent(user, server, sign_in, is_new=False) as (session, _):
            yield session

    @contextmanager
    def _lent(
        self, user: ObjectKey, server: DatabaseServer, sign_in: SignIn, *, is_new: bool
    ) -> Iterator[tuple[Session, bool]]:
        """Lend a session; return whether it was kept from before. is_new: whether to
        open a new one, and close those that were kept.
        """
        place = (server, sign_in.digest)
        pool = self._entered(user, place)
        try:
            session, is_kept = self._opened(pool, server, sign_in, is_new=is_new)
        except BaseException:
            self._left(place, pool, None)
            raise
        trace = reconcile_context.trace()
        span = trace.call("use database", server.host) if trace else nullcontext()
        kept: Session | None = None
        try:
            with span:
                yield session, is_kept
            kept = session
        # A refusal by the server leaves the session usable; a bug or a broken
        # connection does not.
        except AsoreconcileError as error:
            if not isinstance(error, ServerError) or error.trouble != "lost":
                kept = session
            raise
        finally:
            if kept is None:
                session.close()
            self._left(place, pool, kept)

    def forget(self, user: ObjectKey) -> None:
        """Record that an object needs no session any more.

        If it was the last user, its sessions are closed on a separate thread, because a
        server may respond slowly.
        """
        with self._lock:
            unused = self._abandoned(user)
        _close_apart(unused)

    def close(self) -> None:
        """Close all idle sessions; from now on no session is kept."""
        with self._lock:
            self._closed = True
            sessions = [s for pool in self._pools.values() for s, _ in pool.idle]
            for pool in self._pools.values():
                pool.idle.clear()
        for session in sessions:
            session.close()

    def count(self) -> int:
        """Return the number of open sessions."""
        with self._lock:
            return sum(len(p.idle) + p.taken for p in self._pools.values())

    def _entered(self, user: ObjectKey, place: _Place) -> _Pool:
        unused: list[Session] = []
        with self._lock:
            if self._place_of.get(user, place) != place:
                unused = self._abandoned(user)
            pool = self._pools.setdefault(place, _Pool())
            if pool.silence and self._clock.monotonic() < pool.silent_until:
                raise pool.silence
            if pool.taken >= MOST_SESSIONS:
                raise RetryError(
                    f"all connections to {place[0]} are taken",
                    after_seconds=_TAKEN_SECONDS,
                )
            pool.taken += 1
            pool.users.add(user)
            self._place_of[user] = place
        _close_apart(unused)
        return pool

    def _opened(
        self, pool: _Pool, server: DatabaseServer, sign_in: SignIn, *, is_new: bool
    ) -> tuple[Session, bool]:
        stale: list[Session] = []
        fresh: Session | None = None
        with self._lock:
            oldest = self._clock.monotonic() - (-inf if is_new else IDLE_SECONDS)
            while pool.idle and fresh is None:
                # The newest first, so that those beyond need grow old.
                session, since = pool.idle.pop()
                if since >= oldest:
                    fresh = session
                else:
                    stale.append(session)
        for session in stale:
            session.close()
        if fresh is not None:
            return fresh, True
        trace = reconcile_context.trace()
        span = trace.call("connect database", server.host) if trace else nullcontext()
        try:
            with span:
                opened = self._connect(server, sign_in)
        except ServerError as error:
            if error.trouble == "unreachable":
                self._note_silence(pool, error)
            raise
        pool.silence = None
        return opened, False

    def _note_silence(self, pool: _Pool, error: ServerError) -> None:
        with self._lock:
            pool.silence = error
            pool.silent_until = self._clock.monotonic() + SILENT_SECONDS

    def _left(self, place: _Place, pool: _Pool, session: Session | None) -> None:
        unused: list[Session] = []
        with self._lock:
            pool.taken -= 1
            if session is not None:
                if self._closed or not pool.users:
                    unused.append(session)
                else:
                    pool.idle.append((session, self._clock.monotonic()))
            if not pool.users and not pool.taken:
                self._pools.pop(place, None)
        for one in unused:
            one.close()

    def _abandoned(self, user: ObjectKey) -> list[Session]:
        """Return the sessions that no object uses after this one leaves. Caller holds
        the lock.
        """
        place = self._place_of.pop(user, None)
        pool = self._pools.get(place) if place else None
        if place is None or pool is None:
            return []
        pool.users.discard(user)
        if pool.users:
            return []
        unused = [session for session, _ in pool.idle]
        pool.idle.clear()
        if not pool.taken:
            del self._pools[place]
        return unused


def _close_apart(sessions: list[Session]) -> None:
    if not sessions:
        return

    def close() -> None:
        for session in sessions:
            session.close()

    threading.Thread(target=close, name="database-close", daemon=True).start()
