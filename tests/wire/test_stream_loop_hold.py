"""Streams to a server that is asked for the first time: held until it is known whether
they can share connections.
"""

import socket
import threading

import pytest
from h2peer import h2_serving
from loopreader import LIMITS, WAIT_SECONDS, Reader
from recordedthreads import threads_that_wait
from scriptedpeer import Peer

from asoreconcile.base.errors import StoppedError
from asoreconcile.base.threads import Threads
from asoreconcile.testing.ports import free_port
from asoreconcile.testing.throwaway_certificates import certificate_authority
from asoreconcile.wire import loop_group
from asoreconcile.wire.destination import Destination
from asoreconcile.wire.errors import WireError
from asoreconcile.wire.loop import StreamLoop
from asoreconcile.wire.loop_group import LoopGroup
from asoreconcile.wire.loop_stream import StreamLimits
from asoreconcile.wire.trust import TlsTrust

HELD = 20
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"


class Server:
    """TLS and HTTP/1.1. `/late` is answered once `answers` is set, `/headless` never
    to the end, anything else at once.
    """

    def __init__(self):
        self.authority = certificate_authority()
        self.answers = threading.Event()
        self.peer = Peer(self.script, self.authority.issue(["127.0.0.1"]))

    def script(self, peer, connection):
        while head := peer.read_request(connection):
            if b" /late " in head:
                self.answers.wait(WAIT_SECONDS)
            elif b" /headless " in head:
                self.answers.wait(WAIT_SECONDS)
                connection.sendall(b"HTTP/1.1 200 OK\r\nTransf")
                return
            connection.sendall(ANSWER)

    def close(self):
        self.answers.set()
        self.peer.close()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture
def make_loop(server):
    made = []

    def make(url=f"https://{server.peer.address}", **options):
        given = {
            "trust": lambda: TlsTrust(server.authority.pem),
            "generation": lambda: 0,
            "socket_options": (),
            "threads": Threads(),
            **options,
        }
        made.append(StreamLoop(Destination.of(url), **given))
        return made[-1]

    yield make
    for loop in made:
        loop.close()


@pytest.fixture
def loop(make_loop):
    return make_loop()


@pytest.fixture
def patient(monkeypatch):
    """Nothing but what happens to the first ends the hold."""
    monkeypatch.setattr(loop_group, "_LONGEST_HOLD_SECONDS", 1e6)


def settle(loop):
    """All that was asked for so far has been begun."""
    begun = threading.Event()
    loop._post(begun.set)
    assert begun.wait(WAIT_SECONDS)


def held(loop, first="/late", limits=LIMITS):
    """The first, and those that wait for its answer."""
    readers = [Reader(loop, first, limits)] + [Reader(loop) for _ in range(HELD)]
    settle(loop)
    assert sum(len(group._held) for group in loop._groups) == HELD
    return readers[0], readers[1:]


def test_nothing_else_is_asked_before_the_first_answer(server, loop, patient):
    """libcurl left those that waited by themselves until their time was over."""
    first, others = held(loop)
    server.answers.set()
    for reader in [first, *others]:
        assert reader.answered().whole() == b"first"
    assert b"/late" in server.peer.requests[0]
    assert len(server.peer.requests) == 1 + HELD


def test_the_answer_is_learned_once(server, loop, patient):
    assert Reader(loop).answered().whole() == b"first"
    late = Reader(loop, "/late")
    assert Reader(loop).answered().whole() == b"first"
    server.answers.set()
    assert late.answered().whole() == b"first"


def test_th9_the_first_is_closed_by_its_reader(server, loop, patient):
    first, others = held(loop)
    first.stream.close()
    for reader in others:
        assert reader.answered().whole() == b"first"


def test_the_first_breaks(server, loop, patient):
    first, others = held(loop, "/headless")
    server.answers.set()
    with pytest.raises(WireError):
        first.answered()
    for reader in others:
        assert reader.answered().whole() == b"first"


def test_the_server_is_not_there(make_loop, patient):
    loop = make_loop(url=f"https://127.0.0.1:{free_port()}")
    readers = [Reader(loop) for _ in range(HELD)]
    for reader in readers:
        with pytest.raises(WireError) as caught:
            reader.answered()
        assert not caught.value.is_sent


def test_nobody_is_trusted(make_loop, patient):
    stranger = TlsTrust(certificate_authority().pem)
    loop = make_loop(trust=lambda: stranger)
    readers = [Reader(loop) for _ in range(HELD)]
    for reader in readers:
        with pytest.raises(WireError) as caught:
            reader.answered()
        assert caught.value.is_untrusted


def test_the_first_takes_long(server, loop, monkeypatch):
    monkeypatch.setattr(loop_group, "_LONGEST_HOLD_SECONDS", 0.05)
    first = Reader(loop, "/late")
    others = [Reader(loop) for _ in range(HELD)]
    for reader in others:
        assert reader.answered().whole() == b"first"
    assert not first.stream.is_answered()
    server.answers.set()
    assert first.answered().whole() == b"first"


def test_rf13_a_held_one_has_its_limits_too(server, loop, patient):
    first = Reader(loop, "/late")
    brief = Reader(loop, limits=StreamLimits(connect=10, head=0.05, silence=10))
    other = Reader(loop)
    with pytest.raises(WireError, match="timed out") as caught:
        brief.answered()
    assert not caught.value.is_sent
    server.answers.set()
    assert first.answered().whole() == b"first"
    assert other.answered().whole() == b"first"
    assert len(server.peer.requests) == 2


def test_rf13_the_first_runs_out_of_time(server, loop, patient):
    limits = StreamLimits(connect=10, head=1.0, silence=10)
    first, others = Reader(loop, "/late", limits), [Reader(loop) for _ in range(HELD)]
    with pytest.raises(WireError, match="timed out"):
        first.answered()
    for reader in others:
        assert reader.answered().whole() == b"first"


def test_th9_a_held_one_that_is_closed_is_never_sent(server, loop, patient):
    first, others = held(loop)
    for reader in others[1:]:
        reader.stream.close()
        assert reader.read() is None
    settle(loop)
    server.answers.set()
    assert first.answered().whole() == b"first"
    assert others[0].answered().whole() == b"first"
    settle(loop)
    assert len(server.peer.requests) == 2


def test_connections_are_renewed_meanwhile(server, loop, patient):
    """Those that are held go on as they began; new ones have a first of their own."""
    first, others = held(loop)
    loop.renew()
    assert Reader(loop).answered().whole() == b"first"
    assert not first.stream.is_answered()
    server.answers.set()
    for reader in [first, *others]:
        assert reader.answered().whole() == b"first"
    settle(loop)
    assert len(loop._groups) == 1


def test_th9_the_loop_is_closed_meanwhile(server, loop, patient):
    first, others = held(loop)
    loop.close()
    for reader in [first, *others]:
        with pytest.raises(StoppedError):
            reader.answered()


def test_th10_the_loop_dies_meanwhile(server, make_loop, patient, monkeypatch):
    loop = make_loop(threads=threads_that_wait(lambda *_: False))
    first, others = held(loop)
    act, deaths = LoopGroup.act, [MemoryError()]

    def dying(self, *arguments):
        if self in loop._groups and deaths:  # another test's may be ending
            raise deaths.pop()
        act(self, *arguments)

    monkeypatch.setattr(LoopGroup, "act", dying)
    server.answers.set()
    for reader in [first, *others]:
        with pytest.raises(WireError, match="the thread of all streams died"):
            reader.answered()
    assert Reader(loop).answered().whole() == b"first"


def test_many_that_were_held_share_a_few_connections(patient):
    answers = threading.Event()

    def handle(stream):
        answers.wait(WAIT_SECONDS)
        stream.answer()
        stream.send(b"first")

    with h2_serving(handle) as make:
        peer, loop = make()
        readers = [Reader(loop) for _ in range(120)]
        settle(loop)
        peer.wait_for_streams(1)
        assert len(peer.connections) == 1
        answers.set()
        for reader in readers:
            assert reader.answered().read() == b"first"
        assert len(peer.connections) == 3


def test_a_first_that_takes_long_costs_no_connection_for_each(monkeypatch):
    monkeypatch.setattr(loop_group, "_LONGEST_HOLD_SECONDS", 0.05)

    def handle(stream):
        if stream is not stream.connection.peer.streams[0]:
            stream.answer()
            stream.send(b"first")

    with h2_serving(handle) as make:
        peer, loop = make()
        first = Reader(loop)
        peer.wait_for_streams(1)
        readers = [Reader(loop) for _ in range(120)]
        for reader in readers:
            assert reader.answered().read() == b"first"
        assert not first.stream.is_answered()
        assert len(peer.connections) == 3


def test_where_no_connection_comes_about_not_all_try_at_once(make_loop, patient):
    """The net is down: what is sent is lost, and nobody refuses."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        loop = make_loop(url=f"https://127.0.0.1:{deaf.getsockname()[1]}")
        limits = StreamLimits(connect=0.2, head=60, silence=60)
        readers = [Reader(loop, limits=limits) for _ in range(3)]
        others = [Reader(loop) for _ in range(100)]
        for reader in readers:
            with pytest.raises(WireError) as caught:
                reader.answered()
            assert not caught.value.is_sent
        settle(loop)
        settle(loop)
        assert len(loop._groups[-1]._held) == len(others) - 1
        # Held open until it was looked at: the end of one lets the next one try.
        tried = [deaf.accept()[0] for _ in range(4)]
        deaf.setblocking(False)
        with pytest.raises(BlockingIOError):
            deaf.accept()
        for connection in tried:
            connection.close()
