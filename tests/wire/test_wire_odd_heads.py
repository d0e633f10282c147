"""Heads that no server should send: read as the standard says, or refused in words.

Over a real socket, byte by byte. Whatever came, the next exchange of the pool is sound.
"""

from contextlib import closing

import pytest
from scriptedpeer import Peer

from asoreconcile.base.call_limit import limited
from asoreconcile.wire.destination import Destination
from asoreconcile.wire.errors import WireError
from asoreconcile.wire.handle import Patience
from asoreconcile.wire.pool import HandlePool
from asoreconcile.wire.request import WireRequest

BODY = b'{"a":1}'
LINE = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
GOOD = LINE + LENGTH + b"\r\n" + BODY
CHUNKED = LINE + b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"%x\r\n%s\r\n0\r\n" % (len(BODY), BODY)
INTERIM = b"HTTP/1.1 103 Early Hints\r\nRetry-After: 5\r\nLink: </a>\r\n\r\n"


def of(*headers, line=LINE):
    return line + b"".join(h + b"\r\n" for h in headers) + LENGTH + b"\r\n" + BODY


READ = {
    "no reason phrase": (of(line=b"HTTP/1.1 200\r\n"), 200),
    "of HTTP/1.0": (of(line=b"HTTP/1.0 200 OK\r\n"), 200),
    "lines without a carriage return": (GOOD.replace(b"\r\n", b"\n"), 200),
    "a length that is said twice": (of(LENGTH.strip()), 200),
    "a length beside chunks": (CHUNKED + LENGTH + b"\r\n" + CHUNKS + b"\r\n", 200),
    "a folded line": (of(b"X-A: a", b"  b", b"\tc"), 200),
    "bytes that are no text": (of(b"X-A: \xe9\xff"), 200),
    "a terminal's colours": (of(b"X-A: \x1b[31mred"), 200),
    "a header of 64 KiB": (of(b"X-A: " + b"a" * 65536), 200),
    "4,000 headers": (of(*(b"X-%d: a" % n for n in range(4000))), 200),
    "early hints": (INTERIM * 3 + GOOD, 200),
    "a word before the answer": (b"HTTP/1.1 100 Continue\r\n\r\n" + GOOD, 200),
    "a trailer": (CHUNKED + b"\r\n" + CHUNKS + b"Retry-After: 99\r\n\r\n", 200),
    "an extension of a chunk": (
        CHUNKED + b"\r\n" + CHUNKS.replace(b"\r\n", b";a=b\r\n", 1) + b"\r\n",
        200,
    ),
    "an unknown status": (of(line=b"HTTP/1.1 999 Odd\r\n"), 999),
    "a status line of 64 KiB": (
        of(line=b"HTTP/1.1 500 " + b"x" * 65536 + b"\r\n"),
        500,
    ),
    "cookies, and where else to go": (
        of(b"Set-Cookie: a=b", b'Alt-Svc: h2="127.0.0.1:1"'),
        200,
    ),
}
REFUSED = {
    "two lengths": (of(b"Content-Length: 5"), "Invalid Content-Length"),
    "a negative length": (LINE + b"Content-Length: -1\r\n\r\n", "Invalid Content-L"),
    "a length in words": (LINE + b"Content-Length: two\r\n\r\n", "Invalid Content-L"),
    "a header of a megabyte": (of(b"X-A: " + b"a" * (1 << 20)), "larger than allowed"),
    "10,000 headers": (of(*(b"X-%d: a" % n for n in range(10_000))), "Too many"),
    "early hints without an end": (INTERIM * 100_000, "Too many response headers"),
    "no colon": (of(b"header"), "Header without colon"),
    "nothing to fold": (of(b"  b"), "Header without colon"),
    "a NUL": (of(b"X-A: a\0b"), "NUL byte in header"),
    "a carriage return in a line": (of(b"X-A: a\rb"), "Carriage return"),
    "a chunk of no length": (CHUNKED + b"\r\nzz\r\n", "not a hex digit"),
    "a chunk beyond numbers": (CHUNKED + b"\r\n" + b"f" * 18 + b"\r\n", "longer than"),
    "no head at all": (BODY, "HTTP/0.9"),
    "text before the head": (b"junk\r\n" + GOOD, "HTTP/0.9"),
    "another version than was asked": (of(line=b"HTTP/2 200 OK\r\n"), "Version"),
    "status 0": (of(line=b"HTTP/1.1 000 Odd\r\n"), "Unsupported response code"),
    "a negative status": (of(line=b"HTTP/1.1 -5 Odd\r\n"), "Unsupported HTTP/1"),
}


@pytest.fixture
def first():
    """Asks a pool whose peer answers these bytes first, and well from then on."""
    said = []

    def script(peer, connection):
        while peer.read_request(connection):
            connection.sendall(said.pop() if said else GOOD)

    peer = Peer(script)

    def ask(pool):
        with limited(10, is_read=True) as call:
            return pool.exchange(
                WireRequest("GET", "/x", (), None),
                call=call,
                patience=Patience(connect=10, silence=10),
            )

    def first(answer):
        said.append(answer)
        return ask(pool)

    destination = Destination.of(f"http://{peer.address}")
    with closing(HandlePool(destination, trust=lambda: None)) as pool:
        first.again = lambda: ask(pool)  # type: ignore[attr-defined]
        yield first
    peer.close()


@pytest.mark.parametrize("odd", READ)
def test_what_the_standard_allows_is_read(first, odd):
    answer, status = READ[odd]
    read = first(answer)
    assert (read.status, read.body) == (status, BODY)
    # Of the answer itself: neither a word before it nor one after it counts.
    assert "retry-after" not in read.headers
    assert first.again().body == BODY


@pytest.mark.parametrize("odd", REFUSED)
def test_what_nobody_can_read_is_refused_in_words(first, odd):
    answer, words = REFUSED[odd]
    with pytest.raises(WireError, match=words) as refused:
        first(answer)
    assert refused.value.is_sent
    assert len(str(refused.value)) < 200
    assert first.again().body == BODY
