"""What a server of HTTP/2, or the net before it, does to streams that share."""

import threading

import pytest
from h2peer import greet
from loopreader import LIMITS, WAIT_SECONDS, Reader
from recordedthreads import threads_that_wait

from asoreconcile.base.errors import StoppedError
from asoreconcile.wire.errors import WireError
from asoreconcile.wire.request import WireRequest

# HTTP/2's own.
_INTERNAL, _REFUSED, _CALM = 2, 7, 11


def opened(loop, count):
    """So many streams, of which each was answered."""
    readers = [Reader(loop) for _ in range(count)]
    for reader in readers:
        assert reader.answered().read() == b"first"
    return readers


def test_rf13_all_that_fall_silent_at_once_share_their_next_connections(serving_h2):
    """As after an outage of the net: each watch is given up, and opened again."""
    peer, loop = serving_h2()
    silent = opened(loop, 100)
    assert len(peer.connections) == 2
    for reader in silent:
        reader.stream.heard -= 60.0
    again = []
    for reader in silent:
        reader.stream.close()
        again.append(Reader(loop))
    for reader in again:
        assert reader.answered().read() == b"first"
    assert len(peer.connections) == 4


def test_streams_that_a_goodbye_leaves_out_are_sent_again_and_the_others_go_on(
    serving_h2,
):
    """What Go's servers say when they end, or to have their load shared anew."""
    waiting = []

    def handle(stream):
        if len(stream.connection.streams) == 3:
            waiting.append(stream)  # it is not answered
            return
        greet(stream)

    peer, loop = serving_h2(handle)
    served = opened(loop, 2)
    left_out = Reader(loop)
    peer.wait_for_streams(3)
    (old,) = peer.connections
    old.go_away(last=peer.streams[1].number)
    assert left_out.answered().read() == b"first"
    assert Reader(loop).answered().read() == b"first"
    assert len(peer.connections) == 2
    for stream in peer.streams[:2]:
        assert stream.send(b"goes on") == 7
    for reader in served:
        assert reader.read() == b"goes on"


@pytest.mark.parametrize("code", [_INTERNAL, _REFUSED, _CALM])
def test_a_stream_that_the_server_resets_ends_alone(serving_h2, code):
    peer, loop = serving_h2()
    reset, live = opened(loop, 2)
    peer.streams[0].reset(code)
    with pytest.raises(WireError):
        reset.read()
    peer.streams[1].send(b"second")
    assert live.read() == b"second"
    assert len(peer.connections) == 1


def test_a_server_that_allows_fewer_streams_than_there_are(serving_h2):
    """Those that are there go on; further ones find other connections."""
    peer, loop = serving_h2()
    before = opened(loop, 5)
    (first,) = peer.connections
    first.allow(1)
    peer.streams[0].send(b"after the word")  # the client has read it
    assert before[0].read() == b"after the word"
    opened(loop, 5)
    assert len(first.streams) == 5
    for stream in list(first.streams.values())[1:]:
        stream.send(b"goes on")
    for reader in before[1:]:
        assert reader.read() == b"goes on"


def test_another_certificate_is_shown_by_further_connections_alone(serving_h2):
    """The old ones last as long as their streams, and no longer."""
    shown = [1]
    peer, loop = serving_h2(loop={"generation": lambda: shown[-1]})
    before = opened(loop, 60)
    shown.append(2)
    after = opened(loop, 60)
    assert [len(one.streams) for one in peer.connections] == [50, 10, 50, 10]
    for reader in before:
        reader.stream.close()
    first, second, *others = peer.connections
    for connection in (first, second):
        assert connection.ended.wait(WAIT_SECONDS)
    for connection in others:
        for stream in connection.streams.values():
            stream.send(b"goes on")
    for reader in after:
        assert reader.read() == b"goes on"


def test_a_server_that_begins_anew_is_reached_by_all_its_streams(serving_h2):
    peer, loop = serving_h2()
    for reader in opened(loop, 120):
        assert reader.stream.is_answered()
    old = list(peer.connections)
    for connection in old:
        connection.cut()
    lost = []
    for reader in [Reader(loop) for _ in range(120)]:
        try:
            assert reader.answered().read() == b"first"
        except WireError as error:  # it went out before the end was seen
            lost.append(error.is_lost)
            assert Reader(loop).answered().read() == b"first"
    assert all(lost)
    assert len(peer.connections) - len(old) <= 4


def test_what_comes_before_the_answer_is_none(serving_h2):
    def handle(stream):
        stream.inform(103)
        stream.inform(100)
        stream.answer((b"content-type", b"application/json"))
        stream.send(b"first")

    _, loop = serving_h2(handle)
    reader = Reader(loop).answered()
    assert reader.stream.status == 200
    assert reader.stream.headers() == {"content-type": "application/json"}
    assert reader.read() == b"first"


def test_trailers_are_no_part_of_head_or_body(serving_h2):
    def handle(stream):
        greet(stream)
        stream.trail((b"x-end", b"yes"))

    _, loop = serving_h2(handle)
    reader = Reader(loop).answered()
    assert reader.whole() == b"first"
    assert reader.stream.headers() == {}


def test_an_answer_of_a_head_alone_is_whole(serving_h2):
    _, loop = serving_h2(lambda stream: stream.answer(end=True))
    reader = Reader(loop).answered()
    assert (reader.stream.status, reader.whole()) == (200, b"")


def test_a_head_without_end_is_an_error_of_its_stream_alone(serving_h2):
    def handle(stream):
        if len(stream.connection.streams) == 2:
            fields = [(b"x-%d" % number, b"v" * 100) for number in range(6000)]
            stream.long_answer(fields)
        else:
            greet(stream)

    peer, loop = serving_h2(handle)
    (live,) = opened(loop, 1)
    with pytest.raises(WireError):
        Reader(loop).answered()
    assert Reader(loop).answered().read() == b"first"
    if len(peer.connections) == 1:
        peer.streams[0].send(b"second")
        assert live.read() == b"second"


class Bad:
    """A reader that cannot be told once something holds."""

    def __init__(self, loop, holds):
        self.holds = holds
        self.stream = None
        request = WireRequest("GET", "/x", ())
        self.stream = loop.open(request, LIMITS, on_news=self.told)

    def told(self):
        if self.stream is not None and self.holds(self.stream):
            raise RuntimeError("cannot be told")


def test_th10_a_reader_that_raises_keeps_none_from_being_told(serving_h2):
    """It is a defect, and ends all streams; yet each reader learns of it."""
    threads = threads_that_wait(lambda *_: False)
    peer, loop = serving_h2(loop={"threads": threads})
    before = opened(loop, 30)
    bad = [Bad(loop, lambda stream: stream.received > 5) for _ in range(10)]
    peer.wait_for_streams(40)
    after = opened(loop, 30)
    peer.streams[30].send(b"what it is told of")
    for reader in [*before, *after]:
        with pytest.raises(WireError, match="the thread of all streams died"):
            reader.read()
    assert Reader(loop).answered().read() == b"first"
    assert threads.crashes()["streams"].error == "RuntimeError"
    assert any(one.stream.received > 5 for one in bad)


def test_th9_a_reader_that_raises_keeps_no_loop_from_being_closed(serving_h2):
    _, loop = serving_h2()
    readers = opened(loop, 10)
    bad = [Bad(loop, lambda _: loop.is_closed) for _ in range(10)]
    with pytest.raises(RuntimeError, match="cannot be told"):
        loop.close()
    for one in bad:
        one.holds = lambda _: False  # or the fixture would be told again
    for reader in readers:
        with pytest.raises(StoppedError):
            reader.read()
    assert not any(one.stream.is_closed for one in bad)


def test_th9_a_loop_that_is_closed_while_it_is_down_leaves_no_descriptor(serving_h2):
    down = threading.Event()

    def wait(event, _seconds):
        down.set()
        return event.wait(WAIT_SECONDS)

    peer, loop = serving_h2(loop={"threads": threads_that_wait(wait)})
    bad = Bad(loop, lambda stream: stream.received > 5)
    peer.wait_for_streams(1)
    peer.streams[0].send(b"what it is told of")
    assert down.wait(WAIT_SECONDS)
    waker, late = loop._waker, Reader(loop)
    loop.close()
    assert (waker.reader.fileno(), loop._waker) == (-1, None)
    with pytest.raises(StoppedError):
        late.answered()
    assert bad.stream.is_ended
