"""Reads that many new objects share, and the failures of these."""

import threading

import pytest

from asoreconcile.azure.controllers.shared_reads import SharedReads
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.reconcile_context import Context, DeadlineError, running

KEY = ObjectKey("ns", "aso-credential")


class Server:
    """Answers when it is told to."""

    def __init__(self):
        self.reads = 0
        self.error = None
        self.started = threading.Semaphore(0)
        self.go_on = threading.Semaphore(0)

    def read(self, key):
        self.reads += 1
        number = self.reads
        self.started.release()
        assert self.go_on.acquire(timeout=10)
        if self.error:
            raise self.error
        return number


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def shared(clock, server):
    return SharedReads(server.read, seen=lambda kind: "10", clock=clock)


def made(version):
    return {
        "apiVersion": "a/v1",
        "kind": "A",
        "metadata": {"name": "a", "resourceVersion": str(version)},
    }


def wanting(shared, version, clock, *, deadline=None):
    outcomes = []

    def run():
        try:
            with running(Context(clock, deadline=deadline)):
                outcomes.append(shared.get(KEY, made(version)))
        except AsoreconcileError as error:
            outcomes.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcomes


def test_those_that_were_there_share_the_read_under_way(shared, server, clock):
    crowd = [wanting(shared, 5, clock)]
    assert server.started.acquire(timeout=10)
    crowd += [wanting(shared, 9, clock) for _ in range(5)]
    clock.until_waiting(5)
    server.go_on.release()
    for thread, _ in crowd:
        thread.join(10)
    assert [outcomes for _, outcomes in crowd] == [[1]] * 6
    assert server.reads == 1
    assert shared.get(KEY, made(7)) == 1, "and so do those within the next second"


def test_what_came_after_a_read_began_is_not_served_by_it(shared, server, clock):
    early = wanting(shared, 5, clock)
    assert server.started.acquire(timeout=10)
    late = wanting(shared, 11, clock)
    assert server.started.acquire(timeout=10)
    server.go_on.release(2)
    for thread, _ in (early, late):
        thread.join(10)
    assert early[1] != late[1]


def test_nothing_that_began_before_a_change_serves_after_it(shared, server, clock):
    early = wanting(shared, 5, clock)
    assert server.started.acquire(timeout=10)
    shared.forget()
    clock.advance(0.1)
    late = wanting(shared, 5, clock)
    assert server.started.acquire(timeout=10)
    server.go_on.release(2)
    for thread, _ in (early, late):
        thread.join(10)
    assert server.reads == 2


def test_th9_a_failure_frees_all_who_wait_and_is_not_kept(shared, server, clock):
    server.error = AsoreconcileError("no")
    crowd = [wanting(shared, 5, clock)]
    assert server.started.acquire(timeout=10)
    crowd += [wanting(shared, 5, clock) for _ in range(11)]
    clock.until_waiting(11)
    server.go_on.release()
    for thread, _ in crowd:
        thread.join(10)
    assert [outcomes for _, outcomes in crowd] == [[server.error]] * 12
    assert server.reads == 1
    server.error = None
    server.go_on.release()
    assert shared.get(KEY, made(5)) == 2


def test_th9_nobody_waits_longer_than_the_own_time(shared, server, clock):
    first = wanting(shared, 5, clock)
    assert server.started.acquire(timeout=10)
    thread, outcomes = wanting(shared, 5, clock, deadline=2.0)
    clock.until_waiting()
    clock.advance(2)
    thread.join(10)
    assert [type(error) for error in outcomes] == [DeadlineError]
    server.go_on.release()
    first[0].join(10)
    assert first[1] == [1]


def test_old_reads_do_not_pile_up(shared, server, clock):
    for number in range(50):
        server.go_on.release()
        shared.get(ObjectKey("ns", str(number)), made(5))
        clock.advance(2)
    assert (len(shared._shared), len(shared._found)) == (1, 1)
