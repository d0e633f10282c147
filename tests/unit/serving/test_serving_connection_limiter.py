"""Places of connections: who asks nothing loses his to who comes."""

import select
import socket
import threading
from contextlib import ExitStack

import pytest
from applications import until

from asoreconcile.serving.connection_limiter import (
    ConnectionLimiter,
    ConnectionLimitError,
)


@pytest.fixture
def connections():
    """Four, each with a peer that sees when it is shut down."""
    with ExitStack() as open_ones:
        yield [
            tuple(open_ones.enter_context(one) for one in socket.socketpair())
            for _ in range(4)
        ]


def is_shut(peer):
    peer.settimeout(10)
    return peer.recv(1) == b""


def test_mg9_the_oldest_idle_one_makes_place(connections):
    (first, first_peer), (second, _), (third, _), _ = connections
    places = ConnectionLimiter(2)
    assert places.add(first)
    assert places.add(second)
    assert places.add(third)
    assert is_shut(first_peer)
    with pytest.raises(ConnectionError, match="dropped"), places.answering(first):
        pytest.fail("it has lost its place")
    places.remove(first)
    with places.answering(second), places.answering(third):
        assert not places.add(connections[3][0])


def test_mg9_a_busy_one_keeps_its_place(connections):
    (first, _), (second, second_peer), (third, _), _ = connections
    places = ConnectionLimiter(2)
    places.add(first)
    with places.answering(first):
        assert places.add(second)
        assert places.add(third)
        assert is_shut(second_peer)


def test_mg9_who_has_not_finished_its_head_goes_before_who_has(connections):
    """Half a head holds nothing: neither a new one's nor that of one that asked before.

    An idle one goes before one whose body is under way.
    """
    (body, body_peer), (idle, idle_peer), (again, again_peer), (new, new_peer) = (
        connections
    )
    places = ConnectionLimiter(4)
    for one in (body, idle, again, new):
        places.add(one)
    for one in (idle, again):
        places.head_received(one)
        with places.answering(one):
            pass
    places.head_received(body)
    places.request_started(again)
    gone = []
    for _ in connections:
        assert places.drop()
        gone.extend(
            peer
            for peer in (body_peer, idle_peer, again_peer, new_peer)
            if peer not in gone and peer in select.select([peer], [], [], 0)[0]
        )
    assert gone == [new_peer, again_peer, idle_peer, body_peer]
    assert not places.drop()
    with pytest.raises(ConnectionError, match="dropped"):
        places.head_received(new)


def test_mg9_the_reserve_is_for_urgent_requests_alone(connections):
    first, second, third, fourth = (one for one, _ in connections)
    places = ConnectionLimiter(1, reserve=2)
    for one in (first, second, third):
        assert places.add(one)
    with places.answering(first):
        with pytest.raises(ConnectionLimitError), places.answering(second):
            pytest.fail("only the reserve is left")
        with (
            places.answering(second, urgent=True),
            places.answering(third, urgent=True),
        ):
            assert not places.add(fourth)
    with places.answering(second):
        assert places.add(fourth)


def test_closing_ends_the_idle_and_counts_the_busy(connections):
    (first, _), (second, second_peer), (third, _), _ = connections
    places = ConnectionLimiter(2)
    places.add(first)
    places.add(second)
    with places.answering(first):
        assert places.close(0) == 1
        assert is_shut(second_peer)
        assert places.closing
        assert not places.add(third)
    assert places.close(0) == 0


class Seconds:
    """A clock that a test sets."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def reads(places, connection):
    """Its answer is made, and the client reads it until the block ends."""
    stack = ExitStack()
    stack.enter_context(places.answering(connection))
    places.sending(connection)
    return stack


def test_mg9_a_slow_reader_gives_way_after_a_second(connections):
    (first, first_peer), (second, _), _, _ = connections
    now = Seconds()
    places = ConnectionLimiter(1, monotonic=now)
    places.add(first)
    with reads(places, first):
        assert not places.add(second)
        now.now = 1.0
        assert places.add(second)
        assert is_shut(first_peer)
        with places.answering(second):
            pass


def test_mg9_a_slow_reader_s_request_gives_way_too(connections):
    (first, first_peer), (second, _), _, _ = connections
    now = Seconds()
    places = ConnectionLimiter(1, reserve=1, monotonic=now)
    places.add(first)
    places.add(second)
    with reads(places, first):
        with pytest.raises(ConnectionLimitError), places.answering(second):
            pytest.fail("the reader is not slow yet")
        now.now = 1.0
        with places.answering(second):
            assert is_shut(first_peer)


@pytest.fixture
def crowd():
    """Many connections, without peers that look."""
    with ExitStack() as open_ones:
        pairs = [socket.socketpair() for _ in range(20)]
        for pair in pairs:
            for one in pair:
                open_ones.enter_context(one)
        yield [one for one, _ in pairs]


def test_mg9_one_caller_gets_three_quarters_of_the_requests(crowd):
    places = ConnectionLimiter(8, reserve=12)
    for number, one in enumerate(crowd):
        places.add(one, "flood" if number < 10 else f"other {number}")
    with ExitStack() as held:
        for one in crowd[:6]:
            held.enter_context(places.answering(one))
        for one in crowd[6:10]:
            with pytest.raises(ConnectionLimitError), places.answering(one):
                pytest.fail("the rest is for others")
        held.enter_context(places.answering(crowd[10]))
        with places.answering(crowd[11]):
            pass


def test_mg9_a_flood_takes_no_place_of_who_has_fewer(crowd):
    places = ConnectionLimiter(4)
    flood, single, last, *_ = crowd[1:]
    places.add(single, "single")
    for one in crowd[3:7]:
        assert places.add(one, "flood")
    assert places.add(flood, "flood")
    # The oldest, and in the lowest stage: the flood lost its own places.
    places.head_received(single)
    with places.answering(single):
        assert places.add(last, "another")


def test_mg9_many_readers_give_way_at_once_to_a_caller_with_fewer(crowd):
    places = ConnectionLimiter(3, monotonic=Seconds())
    for one in crowd[:3]:
        places.add(one, "flood")
    with ExitStack() as held:
        for one in crowd[:2]:
            held.enter_context(reads(places, one))
        held.enter_context(places.answering(crowd[2]))
        assert not places.add(crowd[3], "flood")
        assert places.add(crowd[3], "single")
        with places.answering(crowd[3]):
            pass


# --- memory ---------------------------------------------------------------------------

KIB = 1 << 10


def started(places, connection, caller):
    places.add(connection, caller)
    places.head_received(connection)


def waits(places, connection, body_bytes):
    """Start a thread that waits for memory; return its outcome."""
    outcome = []

    def reserve():
        try:
            places.reserve(connection, body_bytes, 10)
        except (ConnectionError, ConnectionLimitError) as error:
            outcome.append(type(error).__name__)
        else:
            outcome.append("reserved")

    thread = threading.Thread(target=reserve)
    thread.start()
    until(lambda: outcome or places._places[connection].wants)
    return lambda: (thread.join(10), outcome)[1]


def test_mg9_long_bodies_share_their_memory(crowd):
    places = ConnectionLimiter(9, memory_bytes=900 * KIB)
    for number, one in enumerate(crowd[:4]):
        started(places, one, f"caller {number}")
    places.reserve(crowd[0], 200 * KIB, 0)
    places.reserve(crowd[1], 200 * KIB, 0)
    with pytest.raises(ConnectionLimitError, match="memory"):
        places.reserve(crowd[2], 100 * KIB, 0)
    outcome = waits(places, crowd[2], 100 * KIB)
    with places.answering(crowd[0]):
        pass
    assert outcome() == ["reserved"]


def test_mg9_one_caller_does_not_take_all_memory(crowd):
    places = ConnectionLimiter(9, memory_bytes=900 * KIB)
    for one in crowd[:3]:
        started(places, one, "flood")
    started(places, crowd[3], "other")
    places.reserve(crowd[0], 400 * KIB, 0)
    with pytest.raises(ConnectionLimitError):
        places.reserve(crowd[1], 10 * KIB, 0)
    places.reserve(crowd[3], 50 * KIB, 0)


def test_mg9_who_holds_least_gets_memory_first(crowd):
    places = ConnectionLimiter(9, memory_bytes=900 * KIB)
    started(places, crowd[0], "flood")
    started(places, crowd[1], "flood")
    started(places, crowd[2], "other")
    started(places, crowd[3], "third")
    places.reserve(crowd[0], 200 * KIB, 0)
    places.reserve(crowd[3], 200 * KIB, 0)
    flood = waits(places, crowd[1], 150 * KIB)
    other = waits(places, crowd[2], 150 * KIB)
    with places.answering(crowd[3]):
        pass
    assert other() == ["reserved"]
    places.remove(crowd[2])
    assert flood() == ["reserved"]


def test_mg9_a_body_that_does_not_come_gives_its_memory_back(crowd):
    now = Seconds()
    places = ConnectionLimiter(9, memory_bytes=900 * KIB, monotonic=now)
    started(places, crowd[0], "slow")
    started(places, crowd[1], "other")
    places.reserve(crowd[0], 400 * KIB, 0)
    now.now = 1.0
    other = waits(places, crowd[1], 400 * KIB)
    until(lambda: places._places[crowd[0]].dropped)
    # Its thread still has the memory.
    assert not places._places[crowd[1]].held
    with pytest.raises(ConnectionError, match="dropped"):
        places.head_received(crowd[0])
    places.remove(crowd[0])
    assert other() == ["reserved"]


def test_mg9_who_holds_less_loses_no_memory_to_who_holds_more(crowd):
    now = Seconds()
    places = ConnectionLimiter(9, memory_bytes=900 * KIB, monotonic=now)
    started(places, crowd[0], "large")
    started(places, crowd[1], "small")
    started(places, crowd[2], "large")
    with places.answering(crowd[0]):
        pass
    places.head_received(crowd[0])
    places.reserve(crowd[0], 300 * KIB, 0)
    places.reserve(crowd[1], 140 * KIB, 0)
    with places.answering(crowd[0]):
        now.now = 9.0
        with pytest.raises(ConnectionLimitError):
            places.reserve(crowd[2], 90 * KIB, 0)
    assert not places._places[crowd[1]].dropped
