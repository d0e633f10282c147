"""Streams over HTTP/2: many to a connection, and none that holds up another."""

import pytest
from h2peer import greet
from loopreader import Reader
from recordedthreads import RecordedThreads

from asoreconcile.base.errors import StoppedError
from asoreconcile.wire.errors import WireError
from asoreconcile.wire.loop_stream import StreamLimits

WAIT_SECONDS = 20
FLOOD = b"x" * 65_536


def test_three_hundred_streams_share_a_few_connections(serving_h2):
    peer, loop = serving_h2()
    readers = [Reader(loop) for _ in range(300)]
    for reader in readers:
        assert reader.answered().read() == b"first"
    assert len(peer.connections) == 6
    for stream in peer.streams:
        stream.send(b"news")
    for reader in readers:
        assert reader.read() == b"news"


def test_a_stream_that_nobody_reads_holds_up_none_of_its_connection(serving_h2):
    peer, loop = serving_h2()
    stalled = Reader(loop).answered()
    live = Reader(loop).answered()
    assert live.read() == b"first"
    assert len(peer.connections) == 1
    flooded, spoken = peer.streams
    sent = quiet = 0
    while quiet < 200:  # until the client has asked for no more, for a while
        size = flooded.send(FLOOD)
        sent += size
        quiet = 0 if size else quiet + 1
        if not size:
            peer.ended_streams.acquire(timeout=0.002)
    assert sum(map(len, stalled.stream._unread)) <= 512 << 10
    assert sent < 32 << 20
    for number in range(50):
        assert spoken.send(b"%04d" % number) == 4
        assert live.read() == b"%04d" % number
    # Read again, it goes on.
    taken, enough = 0, sent + (1 << 20)
    while taken < enough:
        while sent <= taken:  # its window opens again in a moment
            sent += flooded.send(FLOOD)
            peer.ended_streams.acquire(timeout=0.001)
        taken += len(stalled.read())


def test_th9_a_closed_stream_ends_alone(serving_h2):
    peer, loop = serving_h2()
    closed, live = Reader(loop).answered(), Reader(loop).answered()
    closed.stream.close()
    assert peer.ended_streams.acquire(timeout=WAIT_SECONDS)
    assert [stream.is_over for stream in peer.streams] == [True, False]
    assert live.read() == b"first"
    peer.streams[1].send(b"second")
    assert live.read() == b"second"


def test_an_answer_ends_and_the_next_shares_its_connection(serving_h2):
    def handle(stream):
        greet(stream)
        stream.end()

    peer, loop = serving_h2(handle)
    for _ in range(5):
        assert Reader(loop).answered().whole() == b"first"
    assert len(peer.connections) == 1


def test_a_connection_that_breaks_ends_its_streams_and_no_other(serving_h2):
    peer, loop = serving_h2()
    readers = [Reader(loop).answered() for _ in range(60)]
    assert [reader.read() for reader in readers] == [b"first"] * 60
    first, second = peer.connections
    first.cut()
    broken = []
    for stream in second.streams.values():
        stream.send(b"alive")
    for reader in readers:
        try:
            assert reader.read() == b"alive"
        except WireError as error:
            broken.append(error.is_lost)
    assert broken == [True] * len(first.streams)
    assert 60 - len(broken) == len(second.streams) > 0


def test_a_server_that_allows_fewer_streams_gets_fewer(serving_h2):
    peer, loop = serving_h2(most=10)
    readers = [Reader(loop) for _ in range(60)]
    for reader in readers:
        assert reader.answered().read() == b"first"
    assert [len(one.streams) for one in peer.connections] == [10] * 6


def test_rf13_after_a_stream_that_fell_silent_another_connection_is_used(serving_h2):
    """The connection may be dead and look alive; its other streams may be well."""
    answered = []

    def handle(stream):
        if len(answered) != 1:
            greet(stream)
        answered.append(stream)

    peer, loop = serving_h2(handle)
    live = Reader(loop).answered()
    with pytest.raises(WireError, match="timed out"):
        Reader(loop, limits=StreamLimits(connect=10, head=0.1, silence=10)).answered()
    assert Reader(loop).answered().read() == b"first"
    assert [len(one.streams) for one in peer.connections] == [2, 1]
    assert live.read() == b"first"


def test_rf13_a_stream_closed_for_its_silence_leaves_its_connection(serving_h2):
    peer, loop = serving_h2()
    silent = Reader(loop).answered()
    assert silent.read() == b"first"
    silent.stream.heard -= 60.0
    silent.stream.close()
    assert Reader(loop).answered().read() == b"first"
    Reader(loop).answered().stream.close()  # after a moment: of that no harm is thought
    assert Reader(loop).answered().read() == b"first"
    assert [len(one.streams) for one in peer.connections] == [1, 3]


def test_th9_a_loop_is_closed_while_its_first_stream_is_unanswered(serving_h2):
    threads = RecordedThreads()
    peer, loop = serving_h2(lambda _stream: None, loop={"threads": threads})
    readers = [Reader(loop) for _ in range(3)]
    peer.wait_for_streams(1)
    loop.close()
    for reader in readers:
        with pytest.raises(StoppedError):
            reader.answered()
    assert threads.ended(20)
