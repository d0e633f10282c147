"""A bad connection between an informer and its server, the same for the same seed.

Requests for a path are refused, dropped and delayed. Watches break off inside a line,
send half a document as a line, send bookmarks twice, late and stale, send errors, or
just end. Each request has random numbers of its own, so its faults do not depend on the
time of another request.
"""

import random
import threading
from collections.abc import Callable, Iterable, Iterator

import orjson

from asoreconcile.testing.http import DropConnection, HttpRequest, HttpResponse
from asoreconcile.testing.kube.controls.faults import KubeFaults

_BUSY = HttpResponse(429, b'{"reason":"TooManyRequests"}', {"Retry-After": "1"})
_BROKEN = HttpResponse(500, b"{}")
_ERRORS = (410, 429, 500)
_LATENCY_SECONDS = 0.003


class SeededFaults(KubeFaults):
    """A replacement for a server's `faults`, which counts its faults in `done`."""

    def __init__(self, seed: object, path: str) -> None:
        super().__init__()
        self.done = dict.fromkeys(
            (
                "busy",
                "broken",
                "dropped",
                "late",
                "reset inside a line",
                "truncated",
                "bookmark",
                "stale bookmark",
                "error event",
                "ended",
            ),
            0,
        )
        self.active = True
        self._seed, self._path = seed, path
        self._requests = 0

    def around(
        self, request: HttpRequest, handle: Callable[[HttpRequest], HttpResponse]
    ) -> HttpResponse:
        if not self.active or not self._is_ours(request):
            return super().around(request, handle)
        self._requests += 1
        dice = random.Random(f"{self._seed}/{self._requests}")
        roll = dice.random()
        if roll < 0.10:
            return self._noted("busy", _BUSY)
        if roll < 0.20:
            return self._noted("broken", _BROKEN)
        if roll < 0.30:
            self._noted("dropped")
            raise DropConnection
        response = super().around(request, handle)
        if isinstance(response.body, bytes):
            return response
        return HttpResponse(
            response.status, self._bad(response.body, dice), response.headers
        )

    def _is_ours(self, request: HttpRequest) -> bool:
        return request.method == "GET" and request.path.endswith(self._path)

    def _noted(self, what: str, value: HttpResponse = _BROKEN) -> HttpResponse:
        self.done[what] += 1
        return value

    def _bad(self, chunks: Iterable[bytes], dice: random.Random) -> Iterator[bytes]:
        """Yield a watch's body: whole lines come in, broken data goes out."""
        behind = b""
        for chunk in chunks:
            for line in chunk.splitlines(keepends=True):
                if not self.active:
                    yield line
                    continue
                roll = dice.random()
                if roll < 0.10:
                    self._noted("late")
                    threading.Event().wait(dice.uniform(0, _LATENCY_SECONDS))
                elif roll < 0.18:
                    self._noted("reset inside a line")
                    yield line[: dice.randrange(1, len(line))]
                    raise DropConnection
                elif roll < 0.24:
                    self._noted("truncated")
                    yield line[: dice.randrange(1, len(line) - 1)] + b"\n"
                    return
                elif roll < 0.32:
                    self._noted("ended")
                    return
                elif roll < 0.38:
                    self._noted("error event")
                    yield _error(dice.choice(_ERRORS))
                    return
                yield line
                bookmark = _bookmark_after(line)
                if bookmark and dice.random() < 0.4:
                    self._noted("bookmark")
                    yield bookmark * dice.choice((1, 2))
                if behind and dice.random() < 0.4:
                    self._noted("stale bookmark")
                    yield behind
                behind = bookmark


def _bookmark_after(line: bytes) -> bytes:
    """Return a bookmark that a server might send after an event."""
    event = orjson.loads(line)
    version = event["object"]["metadata"]["resourceVersion"]
    if event["type"] == "BOOKMARK" or event["type"] == "ADDED":
        return b""  # the initial state of a stream is not in order
    obj = {"kind": "ConfigMap", "metadata": {"resourceVersion": version}}
    return orjson.dumps({"type": "BOOKMARK", "object": obj}) + b"\n"


def _error(code: int) -> bytes:
    status = {"kind": "Status", "code": code, "message": "by dice"}
    return orjson.dumps({"type": "ERROR", "object": status}) + b"\n"
