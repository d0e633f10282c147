"""A recording of Azure as an ARM endpoint over TLS, with its token endpoint.

with ReplayServer(read_recordings(archive, [name])[name]) as azure:
    azure.write_ca(path)          # for REQUESTS_CA_BUNDLE
    settings = azure.settings()   # for the operator's environment
    ...
    azure.summary()               # mismatches with the recording
"""

import re
import threading
import uuid
from collections.abc import Sequence
from typing import Any

from asoreconcile.base import jsontext
from asoreconcile.testing.arm.cloud import Cloud
from asoreconcile.testing.arm.refusals import JSON_TYPE
from asoreconcile.testing.faults import Faults
from asoreconcile.testing.http import HttpRequest, HttpResponse
from asoreconcile.testing.replay.exchanges import RecordedExchange, target_of
from asoreconcile.testing.replay.playback import (
    Asked,
    Playback,
    Played,
    Summary,
)

_SUBSCRIPTION = re.compile(r"^/subscriptions/([^/]+)", re.IGNORECASE)


class ReplayServer(Cloud):
    """A recording as a server. Safe to use from any thread.

    Start it with `with` or `start()`, and end it with `close()`.
    """

    def __init__(
        self, exchanges: Sequence[RecordedExchange], *, retry_after_seconds: int = 1
    ) -> None:
        """Make a server for one recording.

        exchanges: one recording, in order.
        retry_after_seconds: every recorded Retry-After is lowered to this.
        """
        self.faults = Faults()
        self._retry_after = str(retry_after_seconds)
        self._playback = Playback(exchanges)
        self._lock = threading.Lock()
        super().__init__(
            faults=self.faults, subscription_id=_subscription_of(exchanges)
        )

    @property
    def journal(self) -> list[Asked]:
        """Return the requests so far, in order."""
        with self._lock:
            return list(self._playback.journal)

    def summary(self) -> Summary:
        """Return the requests so far and their mismatches with the recording."""
        with self._lock:
            return self._playback.summary()

    def answer(self, request: HttpRequest) -> HttpResponse:
        """Return the recorded answer to a request.

        Connection threads call this one at a time.
        """
        target = target_of(
            request.method, request.path, request.query.get("api-version", "")
        )
        with self._lock:
            played = self._playback.play(target, _parsed(request.body))
        return self._response(played)

    def _response(self, played: Played) -> HttpResponse:
        headers = {}
        if played.exchange is not None:
            endpoint = played.exchange.endpoint
            headers = {
                name: value.replace(endpoint, self.url)
                for name, value in played.exchange.headers.items()
            }
            if "retry-after" in headers:
                headers["retry-after"] = self._retry_after
        if isinstance(played.body, str):
            return HttpResponse(played.status, played.body.encode(), headers)
        if played.body is None:
            return HttpResponse(played.status, b"", headers)
        headers["Content-Type"] = JSON_TYPE
        return HttpResponse(played.status, jsontext.dumps(played.body), headers)


def _parsed(body: bytes) -> Any:
    try:
        return jsontext.loads(body) if body else None
    except ValueError:
        return body.decode("utf-8", "replace")


def _subscription_of(exchanges: Sequence[RecordedExchange]) -> str:
    for exchange in exchanges:
        if match := _SUBSCRIPTION.match(exchange.path):
            return match[1]
    return str(uuid.UUID(int=0))
