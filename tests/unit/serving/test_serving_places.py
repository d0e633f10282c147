"""Places of connections: who asks nothing loses his to who comes."""

import socket
from contextlib import ExitStack

import pytest

from asoreconcile.serving.places import Places


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
    places = Places(2)
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
    places = Places(2)
    places.add(first)
    with places.answering(first):
        assert places.add(second)
        assert places.add(third)
        assert is_shut(second_peer)


def test_closing_ends_the_idle_and_counts_the_busy(connections):
    (first, _), (second, second_peer), (third, _), _ = connections
    places = Places(2)
    places.add(first)
    places.add(second)
    with places.answering(first):
        assert places.close(0) == 1
        assert is_shut(second_peer)
        assert places.closing
        assert not places.add(third)
    assert places.close(0) == 0
