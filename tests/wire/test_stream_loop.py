"""Streams that one thread receives: however many, and whatever one of them does."""

import errno
import socket
import sys
import threading

import pytest
from loopreader import WAIT_SECONDS, Reader
from recordedthreads import RecordedThreads, ScarceThreads, threads_that_wait
from scarcedescriptors import exhausted_descriptors
from scriptedpeer import Peer

from asoreconcile.base.errors import StoppedError
from asoreconcile.base.threads import Threads
from asoreconcile.testing.ports import free_port
from asoreconcile.testing.throwaway_certificates import certificate_authority
from asoreconcile.wire import loop as loops
from asoreconcile.wire.destination import Destination
from asoreconcile.wire.errors import WireError
from asoreconcile.wire.loop import StreamLoop
from asoreconcile.wire.loop_group import LoopGroup
from asoreconcile.wire.loop_stream import StreamLimits
from asoreconcile.wire.trust import TlsTrust

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
FLOOD = b"x" * 65_536


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


class Server:
    """Each request's target is what the connection does; `say` goes to the lasting."""

    def __init__(self, authority=None):
        self.authority = authority
        certificate = authority and authority.issue(["127.0.0.1"])
        self.lasting = []
        self.changed = threading.Condition()
        self.hung_up = threading.Semaphore(0)
        self.peer = Peer(self.script, certificate)

    def script(self, peer, connection):
        while head := peer.read_request(connection):
            target = head.split()[1].decode()
            getattr(self, target.strip("/"))(peer, connection)

    def x(self, peer, connection):
        connection.sendall(CHUNKED + chunk(b"first"))
        with self.changed:
            self.lasting.append(connection)
            self.changed.notify_all()
        if not connection.recv(1):
            self.hung_up.release()

    def short(self, peer, connection):
        connection.sendall(CHUNKED + chunk(b"one") + chunk(b"two") + b"0\r\n\r\n")

    def refused(self, peer, connection):
        connection.sendall(b"HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\ngone")

    def flood(self, peer, connection):
        connection.sendall(CHUNKED)
        while not peer.ended.is_set():
            connection.sendall(chunk(FLOOD))

    def drip(self, peer, connection):
        connection.sendall(CHUNKED)
        while not peer.ended.wait(0.05):
            connection.sendall(chunk(b"."))

    def mute(self, peer, connection):
        peer.ended.wait(WAIT_SECONDS)

    def cut(self, peer, connection):
        connection.sendall(CHUNKED + chunk(b"some"))
        connection.close()

    def headless(self, peer, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransf")
        connection.close()

    def say(self, data, count, to=None):
        """To all that last, or the first `to` of them, once there are so many."""
        with self.changed:
            assert self.changed.wait_for(
                lambda: len(self.lasting) >= count, WAIT_SECONDS
            )
            for connection in self.lasting[:to]:
                connection.sendall(chunk(data))


@pytest.fixture
def serving():
    """Makes (server, loop): `serving(secure=False, **options of the loop)`."""
    ending = []

    def make(*, secure=False, **options):
        authority = certificate_authority() if secure else None
        server = Server(authority)
        ending.append(server.peer.close)
        scheme = "https" if secure else "http"
        given = {
            "trust": lambda: TlsTrust(authority.pem) if secure else None,
            "generation": lambda: 0,
            "socket_options": (),
            "threads": Threads(),
            **options,
        }
        url = given.pop("url", f"{scheme}://{server.peer.address}")
        loop = StreamLoop(Destination.of(url), **given)
        ending.append(loop.close)
        return server, loop

    yield make
    for end in reversed(ending):
        end()


def test_a_stream_is_read_as_it_comes(serving):
    server, loop = serving()
    reader = Reader(loop).answered()
    assert reader.stream.status == 200
    assert reader.read() == b"first"
    server.say(b"second", 1)
    assert reader.read() == b"second"


def test_an_answer_ends(serving):
    _, loop = serving()
    assert Reader(loop, "/short").answered().whole() == b"onetwo"


def test_a_refusal_is_an_answer_and_its_connection_is_used_again(serving):
    server, loop = serving()
    for _ in range(3):
        reader = Reader(loop, "/refused").answered()
        assert (reader.stream.status, reader.whole()) == (410, b"gone")
    assert len(server.peer.threads) == 2  # who accepts, and one connection


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
def test_one_thread_receives_a_hundred_streams(serving, secure):
    threads = RecordedThreads()
    server, loop = serving(secure=secure, threads=threads)
    readers = [Reader(loop).answered() for _ in range(100)]
    for reader in readers:
        assert reader.read() == b"first"
    server.say(b"news", len(readers))
    for reader in readers:
        assert reader.read() == b"news"
    assert [thread.name for thread in threads.started] == ["streams"]


def test_a_stream_that_nobody_reads_holds_up_no_other_and_fills_no_memory(serving):
    server, loop = serving()
    stalled = Reader(loop, "/flood").answered()
    live = Reader(loop).answered()
    assert live.read() == b"first"
    for number in range(20):
        server.say(b"%d" % number, 1)
        assert live.read() == b"%d" % number
    held = sum(map(len, stalled.stream._unread))
    assert held <= 512 << 10
    # Read again, it goes on: more than what lay there, or was on its way.
    taken = 0
    while taken < 64 << 20:
        taken += len(stalled.read())


def test_th9_who_closes_a_stream_ends_its_connection_and_wakes_its_reader(serving):
    server, loop = serving()
    reader, other = Reader(loop).answered(), Reader(loop).answered()
    assert reader.read() == b"first"
    threading.Thread(target=reader.stream.close).start()
    assert reader.read() is None
    assert server.hung_up.acquire(timeout=WAIT_SECONDS)
    server.lasting.pop(0)
    assert other.read() == b"first"


def test_a_stream_can_be_closed_before_it_has_an_answer(serving):
    _, loop = serving()
    reader = Reader(loop, "/mute")
    reader.stream.close()
    assert reader.read() is None
    assert Reader(loop, "/short").answered().whole() == b"onetwo"


def test_th9_closing_the_loop_ends_all_and_opens_no_more(serving):
    _, loop = serving()
    readers = [Reader(loop).answered() for _ in range(5)]
    waiting = Reader(loop, "/mute")
    loop.close()
    for reader in readers:
        with pytest.raises(StoppedError):
            reader.whole()
    with pytest.raises(StoppedError):
        waiting.answered()
    with pytest.raises(StoppedError):
        Reader(loop)


@pytest.mark.parametrize(
    ("target", "limits", "reason"),
    [
        ("/mute", {"head": 0.1}, "timed out after 0.1 s"),
        ("/x", {"silence": 0.1}, "nothing came for 0.1 s"),
        ("/drip", {"body": 0.2}, "the answer took over 0 s to arrive"),
    ],
    ids=["head", "silence", "body"],
)
def test_rf13_each_wait_has_an_end(serving, target, limits, reason):
    _, loop = serving()
    given = {"connect": 10, "head": 20, "silence": 20, **limits}
    reader = Reader(loop, target, StreamLimits(**given))
    with pytest.raises(WireError, match=reason):
        reader.answered().whole()


def test_rf13_bytes_that_wait_for_their_reader_are_no_silence(serving):
    _, loop = serving()
    limits = StreamLimits(connect=10, head=20, silence=0.1)
    reader = Reader(loop, limits=limits).answered()
    for _ in range(5):  # turns of the loop, each over an other stream's silence
        with pytest.raises(WireError):
            Reader(loop, "/mute", StreamLimits(10, 0.1, 10)).answered()
    assert reader.read() == b"first"


@pytest.mark.parametrize("target", ["/cut", "/headless"])
def test_a_connection_that_breaks_is_an_error_of_its_stream_alone(serving, target):
    server, loop = serving()
    live = Reader(loop).answered()
    with pytest.raises(WireError) as caught:
        Reader(loop, target).answered().whole()
    assert caught.value.is_lost
    assert live.read() == b"first"
    server.say(b"more", 1)
    assert live.read() == b"more"


def test_what_came_before_it_broke_has_come(serving):
    _, loop = serving()
    reader = Reader(loop, "/cut").answered()
    assert reader.read() == b"some"
    with pytest.raises(WireError):
        reader.read()


def test_nobody_listens(serving):
    _, loop = serving(url=f"http://127.0.0.1:{free_port()}")
    with pytest.raises(WireError) as caught:
        Reader(loop).answered()
    assert not caught.value.is_sent


def test_an_authority_that_nobody_knows(serving):
    stranger = certificate_authority()
    _, loop = serving(secure=True, trust=lambda: TlsTrust(stranger.pem))
    with pytest.raises(WireError, match="certificate verify failed") as caught:
        Reader(loop).answered()
    assert caught.value.is_untrusted


def test_a_new_authority_counts_for_new_connections_and_ends_no_stream(serving):
    """Streams of before go on; nothing new goes over their connections."""
    trust = []
    server, loop = serving(secure=True, trust=lambda: trust[-1])
    known = TlsTrust(server.authority.pem)
    trust.append(known)
    old = Reader(loop).answered()
    assert Reader(loop, "/short").answered().whole() == b"onetwo"
    trust.append(TlsTrust(certificate_authority().pem))
    with pytest.raises(WireError, match="certificate verify failed"):
        Reader(loop, "/short").answered()
    trust.append(known)
    assert Reader(loop, "/short").answered().whole() == b"onetwo"
    assert old.read() == b"first"


def test_renewing_uses_no_connection_of_before(serving):
    server, loop = serving()
    for _ in range(2):
        assert Reader(loop, "/short").answered().whole() == b"onetwo"
    lasting = Reader(loop).answered()
    loop.renew()
    assert Reader(loop, "/short").answered().whole() == b"onetwo"
    assert lasting.read() == b"first"
    # Who accepts; the first connection, which the lasting one took over; another.
    assert len(server.peer.threads) == 1 + 2


@pytest.mark.parametrize(
    ("place", "name"), [(loops, "Waker"), (loops.selectors, "DefaultSelector")]
)
def test_no_descriptor_to_be_had_is_an_error_of_the_stream(
    serving, monkeypatch, place, name
):
    _, loop = serving()

    def exhausted():
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(place, name, exhausted)
        with pytest.raises(WireError, match="Too many open files") as caught:
            Reader(loop)
        assert not caught.value.is_sent
    assert Reader(loop, "/short").answered().whole() == b"onetwo"


def test_no_thread_to_be_had_is_an_error_of_the_stream(serving):
    _, loop = serving(threads=ScarceThreads())
    with pytest.raises(WireError, match="can't start new thread"):
        Reader(loop)
    assert Reader(loop, "/short").answered().whole() == b"onetwo"


def test_sockets_run_out_under_the_loop(serving):
    """With no descriptor left a stream cannot connect; those that live go on."""
    server, loop = serving()
    live = Reader(loop).answered()
    assert live.read() == b"first"
    with exhausted_descriptors():
        with pytest.raises(WireError, match=r"Errno 24.*ulimit"):
            Reader(loop, "/short").answered()
        server.say(b"more", 1)
        assert live.read() == b"more"
    assert Reader(loop, "/short").answered().whole() == b"onetwo"


def test_the_last_descriptor_is_enough_for_a_stream(serving):
    """Options are set without a copy of it: for want of one, all others would end."""
    threads = RecordedThreads()
    options = ((socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),)
    server, loop = serving(threads=threads, socket_options=options)
    live = Reader(loop).answered()
    assert live.read() == b"first"
    with exhausted_descriptors(spare=1):
        late = Reader(loop, "/short")
        server.say(b"more", 1)
        assert live.read() == b"more"
    assert late.answered().whole() == b"onetwo"
    assert threads.crashes() == {}


def test_th10_a_loop_that_dies_ends_its_streams_and_is_started_again(
    serving, monkeypatch
):
    waited = threading.Event()
    died = threading.Event()

    def wait(_event, _seconds):
        died.set()
        waited.wait(WAIT_SECONDS)
        return False

    threads = threads_that_wait(wait)
    server, loop = serving(threads=threads)
    readers = [Reader(loop).answered() for _ in range(3)]
    assert [reader.read() for reader in readers] == [b"first"] * 3
    act, deaths = LoopGroup.act, [MemoryError()]

    def dying(self, *arguments):
        if self in loop._groups and deaths:  # another test's may be ending
            raise deaths.pop()
        act(self, *arguments)

    monkeypatch.setattr(LoopGroup, "act", dying)
    server.say(b"never read", 3, to=1)  # which closes the others' connections
    for reader in readers:
        with pytest.raises(WireError, match="the thread of all streams died"):
            reader.read()
    assert died.wait(WAIT_SECONDS)
    assert threads.down() == ["streams"]
    # Asked for while it is down: answered once it is up.
    reader = Reader(loop, "/short")
    waited.set()
    assert reader.answered().whole() == b"onetwo"
    assert threads.crashes()["streams"].error == "MemoryError"
    assert threads.down() == []


def test_many_threads_open_read_and_close_at_any_moment(serving):
    """At a switch interval at which threads change all the time."""
    _, loop = serving()
    failures = []

    def work(number):
        try:
            for turn in range(10):
                reader = Reader(loop, "/short")
                if (number + turn) % 3 == 0:
                    reader.stream.close()
                    assert reader.whole() in (b"", b"one", b"onetwo")
                else:
                    assert reader.answered().whole() == b"onetwo"
        except BaseException as error:
            failures.append(error)
            raise

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(before)
    assert failures == []
    assert not any(thread.is_alive() for thread in threads)
