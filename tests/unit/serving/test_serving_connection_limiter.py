"""Places of connections: who asks nothing loses his to who comes."""

import select
import socket
from contextlib import ExitStack

import pytest

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
