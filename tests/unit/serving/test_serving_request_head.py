"""A head of a request has one meaning, or is refused."""

import random

import h11
import pytest

from asoreconcile.serving.request_head import BadHeadError, parse_head


def head(*lines, start=b"POST /convert HTTP/1.1", host=b"Host: webhooks"):
    return b"\r\n".join([start, *([host] if host else []), *lines, b"", b""])


def status_of(text):
    with pytest.raises(BadHeadError) as refused:
        parse_head(text)
    return refused.value.status


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(head(b"Content-Length: 5", b"X-Two:a", b"x-two: b "),
                     ("POST", "/convert", 5, True, False), id="usual"),
        pytest.param(head(start=b"GET /a?b=%20[] HTTP/1.1"),
                     ("GET", "/a?b=%20[]", 0, True, False), id="query"),
        pytest.param(head(start=b"GET https://other:1/a HTTP/1.1"),
                     ("GET", "/a", 0, True, False), id="whole-url"),
        pytest.param(head(start=b"GET / HTTP/1.0", host=b""), ("GET", "/", 0, False, False),
                     id="old"),
        pytest.param(head(b"Connection: Keep-Alive", start=b"GET / HTTP/1.0"),
                     ("GET", "/", 0, True, False), id="old-kept"),
        pytest.param(head(b"connection: foo , CLOSE"), ("POST", "/convert", 0, False, False),
                     id="close"),
        pytest.param(head(b"Expect: 100-Continue", b"Content-Length: 007"),
                     ("POST", "/convert", 7, True, True), id="awaits-go"),
        pytest.param(head(host=b"Host:"), ("POST", "/convert", 0, True, False),
                     id="empty-host"),
        pytest.param(head(host=b"Host: [::1]:9443"), ("POST", "/convert", 0, True, False),
                     id="ipv6"),
    ],
)  # fmt: skip
def test_mg11_what_has_one_meaning_is_read(text, expected):
    read = parse_head(text)
    found = (read.method, read.target, read.body_bytes, read.keeps, read.awaits_go)
    assert found == expected


def test_a_repeated_header_is_one_list():
    read = parse_head(head(b"X-Two:a", b"x-two: b ", b"X-Three: \t c\xe9\t"))
    assert read.headers == {"host": "webhooks", "x-two": "a, b", "x-three": "cé"}


# Requests that two programs can read in two ways, as published on request smuggling.
REFUSED = {
    "two-lengths": head(b"Content-Length: 5", b"Content-Length: 6"),
    "two-equal-lengths": head(b"Content-Length: 5", b"Content-Length: 5"),
    "list-of-lengths": head(b"Content-Length: 5, 5"),
    "signed-length": head(b"Content-Length: +5"),
    "negative-length": head(b"Content-Length: -5"),
    "length-in-hex": head(b"Content-Length: 0x5"),
    "length-with-underscore": head(b"Content-Length: 1_0"),
    "length-of-other-digits": head(b"Content-Length: \xd9\xa5"),
    "superscript-length": head(b"Content-Length: \xb2"),
    "empty-length": head(b"Content-Length:"),
    "absurd-length": head(b"Content-Length: " + b"9" * 5000),
    "length-and-coding": head(b"Content-Length: 5", b"Transfer-Encoding: chunked"),
    "blank-before-colon": head(b"Content-Length : 5"),
    "tab-before-colon": head(b"Content-Length\t: 5"),
    "coding-with-blank-before-colon": head(b"Transfer-Encoding : chunked"),
    "coding-in-disguise": head(b"Transfer-Encoding: xchunked"),
    "coding-twice": head(b"Transfer-Encoding: chunked", b"Transfer-Encoding: x"),
    "coding-in-a-list": head(b"Transfer-Encoding: identity, chunked"),
    "coding-with-vertical-tab": head(b"Transfer-Encoding: \x0bchunked"),
    "coding-of-http-1-0": head(b"Transfer-Encoding: chunked", start=b"POST / HTTP/1.0"),
    "coding-quoted": head(b'Transfer-Encoding: "chunked"'),
    "no-colon": head(b"X-Nothing"),
    "no-name": head(b": x"),
    "blank-before-name": head(b" X-A: b"),
    "folded": head(b"X-A: b", b" Content-Length: 5"),
    "folded-by-tab": head(b"X-A: b", b"\tContent-Length: 5"),
    "folded-first": head(b" X-A: b", host=b""),
    "bare-lf": head(b"X-A: b\nContent-Length: 5"),
    "bare-cr": head(b"X-A: b\rContent-Length: 5"),
    "null": head(b"X-A: \x00"),
    "null-in-name": head(b"X\x00-A: b"),
    "delete": head(b"X-A: \x7f"),
    "name-beyond-ascii": head(b"X-\xe9: b"),
    "name-with-slash": head(b"X/A: b"),
    "no-host": head(host=b""),
    "two-hosts": head(b"Host: other"),
    "two-equal-hosts": head(b"Host: webhooks"),
    "host-with-path": head(host=b"Host: a/b"),
    "host-with-user": head(host=b"Host: a@b"),
    "host-with-blank": head(host=b"Host: a b"),
    "host-list": head(host=b"Host: a, b"),
    "close-and-keep": head(b"Connection: close, keep-alive"),
    "two-connections": head(b"Connection: close", b"Connection: keep-alive"),
    "two-authorizations": head(b"Authorization: Bearer a", b"authorization: Bearer b"),
    "no-version": head(start=b"GET /"),
    "lower-version": head(start=b"GET / http/1.1"),
    "long-version": head(start=b"GET / HTTP/1.10"),
    "blank-at-end": head(start=b"GET / HTTP/1.1 "),
    "two-blanks": head(start=b"GET  / HTTP/1.1"),
    "tab": head(start=b"GET\t/ HTTP/1.1"),
    "blank-first": head(start=b" GET / HTTP/1.1"),
    "method-with-colon": head(start=b"GE:T / HTTP/1.1"),
    "lf-alone": b"GET / HTTP/1.1\nHost: a\n\n",
    "empty": b"\r\n\r\n",
    "no-target": head(start=b"GET HTTP/1.1"),
    "relative-target": head(start=b"GET healthz HTTP/1.1"),
    "fragment": head(start=b"GET /a#b HTTP/1.1"),
    "half-escape": head(start=b"GET /a%2 HTTP/1.1"),
    "odd-escape": head(start=b"GET /%zz HTTP/1.1"),
    "target-beyond-ascii": head(start=b"GET /\xe9 HTTP/1.1"),
    "target-with-control": head(start=b"GET /\x01 HTTP/1.1"),
    "backslash": head(start=b"GET \\a HTTP/1.1"),
    "broken-url": head(start=b"GET http://[ HTTP/1.1"),
    "other-scheme": head(start=b"GET file:///etc HTTP/1.1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_mg11_what_could_be_read_in_two_ways_is_refused(name):
    assert status_of(REFUSED[name]) == 400


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (head(b"Transfer-Encoding: chunked"), 411),
        (head(start=b"GET / HTTP/1.2"), 505),
        (head(start=b"GET / HTTP/2.0"), 505),
        (head(start=b"GET / HTTP/0.9"), 505),
        (head(b"Expect: 200-ok"), 417),
        (head(*[b"X: y"] * 100), 431),
    ],
)
def test_what_is_not_served_has_a_status_of_its_own(text, status):
    assert status_of(text) == status


def test_mg11_it_is_at_least_as_strict_as_h11(pytestconfig):
    """Whatever is read here, another server reads as the same request."""
    seed = pytestconfig.getoption("randomly_seed", 1)
    draw = random.Random(seed)
    read = 0
    for _ in range(3_000):
        text = mutated(draw)
        try:
            ours = parse_head(text)
        except BadHeadError:
            continue
        peer = h11.Connection(h11.SERVER)
        peer.receive_data(text)
        theirs = peer.next_event()
        assert isinstance(theirs, h11.Request), (seed, text)
        assert theirs.method.decode() == ours.method
        assert theirs.target.decode().endswith(ours.target)
        names = {name.decode() for name, _ in theirs.headers}
        assert names == set(ours.headers), (seed, text)
        lengths = [value for name, value in theirs.headers if name == b"content-length"]
        assert [int(value) for value in lengths] == [ours.body_bytes][: len(lengths)]
        read += 1
    assert read > 100


PIECES = [
    *(b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b",", b"\x00", b"\x0b", b"\xa0"),
    *(b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: b\r\n"),
    *(b"Connection: close\r\n", b"HTTP/1.1", b"chunked", b"5", b"%", b"/", b"X"),
]


def mutated(draw):
    """A request's head with up to four pieces put in, doubled or cut out."""
    text = bytearray(
        draw.choice(
            [
                head(b"Content-Length: 5", b"Content-Type: application/json"),
                head(b"Accept: */*", start=b"GET /metrics?a=b HTTP/1.1"),
                head(b"Connection: keep-alive", start=b"GET / HTTP/1.0", host=b""),
            ]
        )
    )
    for _ in range(draw.randrange(5)):
        at = draw.randrange(len(text))
        match draw.randrange(3):
            case 0:
                text[at:at] = draw.choice(PIECES)
            case 1:
                del text[at : at + draw.randrange(1, 4)]
            case 2:
                text[at : at + 1] = bytes([draw.randrange(256)])
    return bytes(text)
