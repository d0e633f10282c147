"""A watch's lines as events."""

import pytest

from asoreconcile.base.foreign_json import NoNumber
from asoreconcile.kube.errors import DecodeError
from asoreconcile.kube.watch import WatchStream


class Lines:
    def __init__(self, *lines):
        self._lines = lines

    def lines(self):
        yield from self._lines


def test_empty_lines_between_events_say_nothing():
    event = b'{"type": "ADDED", "object": {"metadata": {}}}'
    stream = WatchStream(Lines(b"", event, b"", event))
    assert [*stream] == [("ADDED", {"metadata": {}})] * 2


@pytest.mark.parametrize(
    "line",
    [
        b"nope",
        b"[]",
        b"{}",
        b'{"type": "ADDED"}',
        b'{"type": 1, "object": {}}',
        b'{"type": "ADDED", "object": []}',
        b'{"type": "ADDED", "object": null}',
    ],
)
def test_a_line_that_is_no_event_is_garbled(line):
    with pytest.raises(DecodeError):
        next(iter(WatchStream(Lines(line))))


@pytest.mark.parametrize(
    ("text", "read"),
    [(rb'"\ud800"', "\ufffd"), (b'"x\xff"', "x\ufffd"), (b"1e999", NoNumber("inf"))],
    ids=["half", "no-utf8", "no-number"],
)
def test_rf9_an_event_that_is_no_json_ends_no_watch(text, read):
    event = b'{"type": "ADDED", "object": {"metadata": {"name": "a"}, "data": %s}}'
    found = [*WatchStream(Lines(event % text, event % b'"next"'))]
    meta = {"name": "a"}
    assert found == [
        ("ADDED", {"metadata": meta, "data": read}),
        ("ADDED", {"metadata": meta, "data": "next"}),
    ]
