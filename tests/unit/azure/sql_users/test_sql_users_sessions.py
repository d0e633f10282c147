"""Connections: how many, for whom, and what a server that hangs holds up."""

import threading

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from asoreconcile.azure.sql_users.server import DatabaseServer, ServerError, SignIn
from asoreconcile.azure.sql_users.sessions import (
    IDLE_SECONDS,
    MOST_SESSIONS,
    SILENT_SECONDS,
    Sessions,
)
from asoreconcile.base import reconcile_context
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.tracing import Tracing
from asoreconcile.testing.clock import FakeClock

SERVER = DatabaseServer("db", 5432, "postgres")
OTHER = DatabaseServer("other", 5432, "postgres")
ADMIN = SignIn("admin", "hunter2")
ONE, TWO, THREE = (ObjectKey("ns", name) for name in ("one", "two", "three"))


class Opened:
    def __init__(self, server, sign_in):
        self.server, self.sign_in = server, sign_in
        self.closed = threading.Event()

    def close(self):
        self.closed.set()


@pytest.fixture
def pool():
    return Pool()


class Pool:
    def __init__(self):
        self.clock = FakeClock()
        self.opened = []
        self.failure = None
        self.sessions = Sessions(self._connect, clock=self.clock)

    def _connect(self, server, sign_in):
        if self.failure:
            raise self.failure
        made = Opened(server, sign_in)
        self.opened.append(made)
        return made

    def use(self, user, server=SERVER, sign_in=ADMIN):
        with self.sessions.borrow(user, server, sign_in) as session:
            return session


def test_a_session_is_used_again(pool):
    assert pool.use(ONE) is pool.use(TWO)
    assert len(pool.opened) == 1


def test_one_that_was_idle_for_long_is_not(pool):
    first = pool.use(ONE)
    pool.clock.advance(IDLE_SECONDS + 1)
    assert pool.use(ONE) is not first
    assert first.closed.is_set()


def test_another_credential_gets_another_session_and_the_former_is_closed(pool):
    first = pool.use(ONE)
    second = pool.use(ONE, sign_in=SignIn("admin", "rotated"))
    assert second is not first
    assert first.closed.wait(5)
    assert pool.sessions.count() == 1


def test_a_new_token_of_the_same_identity_does_not(pool):
    first = pool.use(ONE, sign_in=SignIn("a", "t1", is_token=True, holder="ns/s"))
    again = pool.use(ONE, sign_in=SignIn("a", "t2", is_token=True, holder="ns/s"))
    assert again is first
    other = pool.use(TWO, sign_in=SignIn("a", "t2", is_token=True, holder="ns/x"))
    assert other is not first


def test_there_are_no_more_than_the_limit_and_nobody_waits(pool):
    keys = [ObjectKey("ns", str(n)) for n in range(MOST_SESSIONS)]
    held = [pool.sessions.borrow(key, SERVER, ADMIN) for key in keys]
    for one in held:
        one.__enter__()
    with pytest.raises(RetryError):
        pool.use(THREE)
    pool.use(THREE, server=OTHER)  # another server's are free
    for one in held:
        one.__exit__(None, None, None)
    pool.use(THREE)


def test_the_last_user_closes_them(pool):
    session = pool.use(ONE)
    pool.use(TWO)
    pool.sessions.forget(ONE)
    assert not session.closed.is_set()
    pool.sessions.forget(TWO)
    assert session.closed.wait(5)
    assert pool.sessions.count() == 0


def test_one_that_is_in_use_when_its_user_goes_is_closed_afterwards(pool):
    with pool.sessions.borrow(ONE, SERVER, ADMIN) as session:
        pool.sessions.forget(ONE)
        assert not session.closed.is_set()
    assert session.closed.is_set()
    assert pool.sessions.count() == 0


def test_a_server_that_does_not_answer_is_not_asked_again_at_once(pool):
    pool.failure = ServerError("no answer", trouble="unreachable")
    for key in (ONE, TWO):
        with pytest.raises(ServerError, match="no answer"):
            pool.use(key)
        pool.failure = None  # would answer now
    pool.use(THREE, server=OTHER)
    assert [one.server for one in pool.opened] == [OTHER]
    pool.clock.advance(SILENT_SECONDS + 1)
    pool.use(ONE)


def test_a_kept_connection_that_died_is_replaced_once(pool):
    pool.use(ONE)
    pool.use(ONE)
    tried = []

    def work(session):
        tried.append(session)
        if session is not pool.opened[-1] or len(pool.opened) == 1:
            raise ServerError("gone", trouble="lost")

    pool.sessions.run(ONE, SERVER, ADMIN, work)
    assert tried == pool.opened
    assert [one.closed.is_set() for one in tried] == [True, False]


def test_a_new_connection_that_breaks_is_not_replaced(pool):
    def work(_session):
        raise ServerError("gone", trouble="lost")

    with pytest.raises(ServerError, match="gone"):
        pool.sessions.run(ONE, SERVER, ADMIN, work)
    assert len(pool.opened) == 1


def test_the_other_kept_connections_are_not_tried_after_one_that_died(pool):
    with pool.sessions.borrow(ONE, SERVER, ADMIN):
        pool.use(TWO)
    first, second = pool.opened

    def work(session):
        if session in (first, second):
            raise ServerError("gone", trouble="lost")

    pool.sessions.run(ONE, SERVER, ADMIN, work)
    assert first.closed.is_set()
    assert second.closed.is_set()


@pytest.mark.parametrize("trouble", ["lost", "locked", "refused"])
def test_trouble_of_one_connection_is_no_trouble_of_another_user(pool, trouble):
    def work(_session):
        raise ServerError("trouble", trouble=trouble)

    with pytest.raises(ServerError):
        pool.sessions.run(ONE, SERVER, ADMIN, work)
    pool.use(TWO)


def test_what_the_server_refuses_costs_no_session(pool):
    with (
        pytest.raises(ServerError),
        pool.sessions.borrow(ONE, SERVER, ADMIN) as session,
    ):
        raise ServerError("no such role", trouble="refused")
    assert pool.use(ONE) is session


@pytest.mark.parametrize("error", [ServerError("gone", trouble="lost"), ValueError()])
def test_one_that_may_be_broken_is_closed(pool, error):
    with (
        pytest.raises(type(error)),
        pool.sessions.borrow(ONE, SERVER, ADMIN) as session,
    ):
        raise error
    assert session.closed.is_set()
    assert pool.sessions.count() == 0


def test_nothing_is_kept_once_all_is_closed(pool):
    first = pool.use(ONE)
    pool.sessions.close()
    assert first.closed.is_set()
    assert pool.use(ONE).closed.is_set()


def test_no_secret_is_in_what_is_printed():
    assert "hunter2" not in repr(ADMIN) + ADMIN.digest


def test_a_traced_reconcile_shows_its_databases_without_a_secret(pool):
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    with Tracing(provider).reconcile("users", {}) as trace:
        context = reconcile_context.Context(pool.clock, trace=trace)
        with reconcile_context.running(context):
            pool.use(ONE)
            pool.use(ONE)
            pool.failure = ServerError("nobody answers", trouble="unreachable")
            with pytest.raises(ServerError):
                pool.use(TWO, OTHER)
    *calls, whole = spans.get_finished_spans()
    assert [(one.name, one.attributes["server.address"]) for one in calls] == [
        ("connect database", "db"),
        ("use database", "db"),
        ("use database", "db"),
        ("connect database", "other"),
    ]
    assert {one.parent.span_id for one in calls} == {whole.context.span_id}
    assert calls[-1].attributes["error.type"] == "ServerError"
    assert calls[0].status.is_unset
    assert not [one for one in calls if ADMIN.secret in one.to_json()]
    provider.shutdown()
