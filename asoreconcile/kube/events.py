"""Events: what happened to an object, written where `kubectl describe` shows it.

Recording never blocks: events go through a bounded queue to one thread. The same event
again raises a count instead of making another; one object's flood of one reason is
thinned out without silencing its other reasons. Rules: runtime-semantics section 8.
"""

import random
import threading
import uuid
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Protocol

from asoreconcile.clock import Clock
from asoreconcile.errors import StoppedError
from asoreconcile.kube.correlation import Correlator, EventType, Record, Series
from asoreconcile.kube.errors import (
    AlreadyExistsError,
    ApiError,
    NotFoundError,
    TransportError,
)
from asoreconcile.kube.resources import EVENTS, ApiResource
from asoreconcile.log import Logger
from asoreconcile.objects import JsonObject, ObjectKey, key_of, resource_version, uid_of

_log = Logger(__name__)

_QUEUED = 1000
_TRIES = 12
_RETRY_SECONDS = 10.0
_MAX_MESSAGE = 1024


class Client(Protocol):
    """Writes events (`kube.client.KubeClient`)."""

    def create(self, resource: ApiResource, obj: JsonObject) -> JsonObject: ...

    def patch(
        self, resource: ApiResource, key: ObjectKey, body: JsonObject
    ) -> JsonObject: ...


class EventRecorder:
    """Records core/v1 events; a service of the manager. Safe from any thread."""

    def __init__(
        self,
        client: Client,
        source: str,
        *,
        clock: Clock,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        """source: the component that the events are said to come from."""
        self.name = "events"
        self._client = client
        self._source = source
        self._clock = clock
        self._uniform = uniform
        self._queue: deque[Record] = deque()
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._busy = False
        self._ended = False
        self._correlator = Correlator()
        self._thread: threading.Thread | None = None

    def event(
        self,
        obj: JsonObject,
        type: EventType,  # noqa: A002 - the field's name
        reason: str,
        message: str,
    ) -> None:
        """Record something about an object; dropped, and logged, when the queue is
        full. Cluster-scoped objects have their events in namespace `default`.
        """
        record = Record(
            _reference_of(obj), type, reason, _cut(message), self._clock.now()
        )
        with self._changed:
            full = len(self._queue) >= _QUEUED
            if not full:
                self._queue.append(record)
                self._changed.notify_all()
        if full:
            _log.warning("Dropping event", reason=reason, object=str(key_of(obj)))

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    def flush(self, timeout_seconds: float) -> bool:
        """Wait until all that was recorded is written; False when time ran out."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._ended or not self._pending(), timeout_seconds
            )
            return not self._pending()

    def stop(self, timeout_seconds: float) -> list[str]:
        """Write what is queued, then end."""
        flushed = self._thread is None or self.flush(timeout_seconds)
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()
        return [] if flushed else [f"{self.name} ({len(self._queue)} not written)"]

    def _pending(self) -> bool:
        """Caller holds the lock."""
        return bool(self._queue) or self._busy

    def _run(self) -> None:
        try:
            while (record := self._next()) is not None:
                self._write(record)
        except StoppedError:
            _log.info("Events end with the client", unwritten=len(self._queue))
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _next(self) -> Record | None:
        with self._changed:
            self._busy = False
            self._changed.notify_all()
            while not self._queue:
                if self._stopping.is_set():
                    return None
                self._changed.wait()
            self._busy = True
            return self._queue.popleft()

    def _write(self, record: Record) -> None:
        series = self._correlator.observe(record, self._clock.monotonic())
        if series is None:
            return
        for attempt in range(1, _TRIES + 1):
            try:
                self._send(record, series)
            except ApiError as error:
                # A refused event will be refused again.
                _log.warning("Event refused", reason=record.reason, error=str(error))
                return
            except TransportError as error:
                # Many recorders lose one server at once: they come back one by one.
                pause = _RETRY_SECONDS * (self._uniform(0, 1) if attempt == 1 else 1)
                if attempt == _TRIES or self._clock.wait(self._stopping, pause):
                    _log.warning("Event lost", reason=record.reason, error=str(error))
                    return
            else:
                return

    def _send(self, record: Record, series: Series) -> None:
        if series.written:
            key = ObjectKey(_namespace_of(record), series.name)
            change = {
                "count": series.count,
                "lastTimestamp": _stamp(series.last),
                "message": _cut(series.message),
            }
            try:
                self._client.patch(EVENTS, key, change)
            except NotFoundError:
                series.written, series.name = False, ""  # it expired: write it anew
            else:
                return
        # One name for all tries: an answer may be lost, and the event be there.
        series.name = series.name or _name(record)
        with suppress(AlreadyExistsError):
            self._client.create(EVENTS, self._document(record, series))
        series.written = True

    def _document(self, record: Record, series: Series) -> JsonObject:
        key = key_of(record.obj)
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": series.name,
                "namespace": _namespace_of(record),
            },
            "involvedObject": {
                "apiVersion": record.obj.get("apiVersion"),
                "kind": record.obj.get("kind"),
                "namespace": key.namespace,
                "name": key.name,
                "uid": uid_of(record.obj),
                "resourceVersion": resource_version(record.obj),
            },
            "type": record.type,
            "reason": record.reason,
            "message": _cut(series.message),
            "source": {"component": self._source},
            "reportingComponent": self._source,
            "reportingInstance": "",
            "firstTimestamp": _stamp(series.first),
            "lastTimestamp": _stamp(series.last),
            "count": series.count,
        }


def _name(record: Record) -> str:
    return f"{key_of(record.obj).name[:200]}.{uuid.uuid4().hex[:16]}"


def _namespace_of(record: Record) -> str:
    """Where an object's events are; cluster-scoped objects have them in `default`."""
    return key_of(record.obj).namespace or "default"


def _reference_of(obj: JsonObject) -> JsonObject:
    """The little of an object that an event names: the queue must not hold specs."""
    key = key_of(obj)
    return {
        "apiVersion": obj.get("apiVersion"),
        "kind": obj.get("kind"),
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "uid": uid_of(obj),
            "resourceVersion": resource_version(obj),
        },
    }


def _cut(message: str) -> str:
    # The API refuses messages over 1,024 characters.
    return (
        message if len(message) <= _MAX_MESSAGE else message[: _MAX_MESSAGE - 3] + "..."
    )


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
