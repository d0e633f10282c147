"""Records Kubernetes events, which `kubectl describe` shows.

Recording never blocks: events go through a bounded queue to one thread, which writes
them a moment later (`event_queue`). A repeated event increments a count instead of
making another; many events for one reason of an object are limited without affecting
its other reasons.
"""

import math
import random
import re
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Literal

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.log import Logger
from asoreconcile.base.lru import LruCache
from asoreconcile.base.objects import (
    AnyObject,
    JsonObject,
    ObjectKey,
    document_of,
    key_of,
    resource_version,
    uid_of,
)
from asoreconcile.base.printable import printable
from asoreconcile.base.random_id import random_id
from asoreconcile.base.threads import Threads
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import (
    AlreadyExistsError,
    ApiError,
    NotFoundError,
    TransportError,
)
from asoreconcile.kube.event_correlator import (
    EventCorrelator,
    EventIdentity,
    EventRecord,
    EventType,
    Series,
)
from asoreconcile.kube.event_encoding import (
    CoreEventEncoding,
    EventEncoding,
    EventsV1Encoding,
    cut,
    namespace_of,
)
from asoreconcile.kube.event_queue import EventQueue, EventTask
from asoreconcile.redaction import redact

# client-go's values: a series ends after six minutes, and is updated every half hour.
IDLE_SECONDS = 360.0
_REFRESH_SECONDS = 1800.0
_REMEMBERED = 4096


@attrs.define
class _Open:
    record: EventRecord
    series: Series
    seen: float
    reported: float
    reported_count: int = 0


class SeriesCorrelator:
    """Correlates events into series; remembers the last minutes."""

    def __init__(self) -> None:
        self._open = LruCache[EventIdentity, _Open](_REMEMBERED)

    def observe(self, record: EventRecord, now: float) -> Series | None:
        """Count a record. Returns the event to write, or None if its series is already
        known.

        now: monotonic seconds.
        """
        identity = (*record.flow, record.action)
        known = self._open.get(identity)
        if known is None or now - known.seen >= IDLE_SECONDS:
            series = Series(record.at, record.at, record.message)
            known = self._open.put(identity, _Open(record, series, now, now))
        known.seen = now
        known.series.count += 1
        known.series.last = record.at
        if known.series.count > 2 and now - known.reported < _REFRESH_SECONDS:
            return None
        known.reported, known.reported_count = now, known.series.count
        return known.series

    def finished(self, now: float) -> list[tuple[EventRecord, Series]]:
        """Return the series that have ended with occurrences that were not written
        yet.
        """
        ended = [
            (identity, known)
            for identity, known in self._open.items()
            if now - known.seen >= IDLE_SECONDS
        ]
        for identity, _ in ended:
            self._open.pop(identity)
        return [
            (known.record, known.series)
            for _, known in ended
            if known.series.count > known.reported_count
        ]

    def __len__(self) -> int:
        return len(self._open)


_log = Logger(__name__)

# client-go's twelve tries, ten seconds apart: a restarting API server is back by then.
_TRIES = 12
_RETRY_SECONDS = 10.0


EventApi = Literal["v1", "events.k8s.io/v1"]


class EventRecorder:
    """Records events; a service for the manager. Safe from any thread.

    Each controller records under its own name, with `named`.
    """

    def __init__(
        self,
        client: KubeClient,
        source: str,
        *,
        clock: Clock,
        api: EventApi = "v1",
        instance: str = "",
        uniform: Callable[[float, float], float] = random.uniform,
        threads: Threads | None = None,
    ) -> None:
        """source: the component that reports the events. api: which API's events to
        write; all tools read `v1`.
        instance: id of the process for events.k8s.io/v1; default the host name.
        threads: starts the writer thread; share one per process to report threads that
        died.
        """
        self.name = "events"
        self._client = client
        self._source = source
        self._clock = clock
        self._uniform = uniform
        self._threads = threads or Threads(clock)
        self._queue = EventQueue(clock)
        self._ending = threading.Event()  # no pause before the next try, the last one
        self._stopping = threading.Event()
        self._form: EventEncoding = CoreEventEncoding()
        self._correlator: EventCorrelator | SeriesCorrelator = EventCorrelator()
        self._serieses: SeriesCorrelator | None = None
        if api == "events.k8s.io/v1":
            self._form = EventsV1Encoding(instance or socket.gethostname())
            self._correlator = self._serieses = SeriesCorrelator()
        self._looks_again = False
        self._thread: threading.Thread | None = None

    def event(
        self,
        obj: AnyObject,
        type: EventType,  # noqa: A002 - the field's name
        reason: str,
        message: str,
        *,
        action: str = "",
        source: str = "",
    ) -> None:
        """Record an event of an object, a dict or one of a class; dropped and logged if
        the queue is full. Events of cluster-scoped objects are in namespace `default`.

        Written within about a tenth of a second of the clock, or at once by `flush`.
        action: the action in progress, for events.k8s.io/v1; default the reason.
        source: the component; default the recorder's. Raises TypeError for another
        type, and for anything but an object.
        """
        if type not in ("Normal", "Warning"):
            raise TypeError(f'type is {type!r}: give "Normal" or "Warning"')
        obj = document_of(obj)
        # Before truncation: part of a secret would not be recognized.
        key = key_of(obj)
        hidden = redact(message, namespace=key.namespace)
        shown = cut(printable(hidden, keep="\n"))
        record = EventRecord(
            _reference_of(obj, key),
            type,
            reason,
            shown,
            self._clock.now(),
            action,
            source or self._source,
        )
        if not self._queue.put(lambda: self._write(record)):
            _log.warning("Dropping event", reason=reason, object=str(key))

    def named(self, source: str) -> "NamedRecorder":
        """Return the same recorder for another component, such as one controller."""
        return NamedRecorder(self, source)

    def start(self) -> None:
        """Start to write recorded events, on a separate thread."""
        self._thread = self._threads.start(
            self.name, self._run, stopping=self._stopping
        )

    def flush(self, timeout_seconds: float) -> bool:
        """Wait until all recorded events are written; False after the timeout."""
        return self._queue.flush(timeout_seconds)

    def stop(self, timeout_seconds: float) -> list[str]:
        """Write queued events within the timeout, then end; returns what was not
        written. An event that waits for its next try gets a last one at once.
        """
        self._ending.set()
        if self._serieses is not None:
            self._queue.put(lambda: self._finish_series(math.inf), always=True)
        # Before the stop: the flush needs the writer.
        flushed = self._thread is None or self.flush(timeout_seconds)
        self._stopping.set()
        self._queue.stop()
        return [] if flushed else [f"{self.name} ({len(self._queue)} not written)"]

    def _run(self) -> None:
        try:
            while (task := self._queue.next()) is not None:
                self._do(task)
        except StoppedError:
            _log.info("Events end with the client", unwritten=len(self._queue))
        self._queue.end()

    def _do(self, task: EventTask) -> None:
        """Run one task. An event that cannot be written does not stop the others."""
        try:
            task()
        except StoppedError:
            raise
        except Exception as error:  # noqa: BLE001 - counted, and the next one is written
            self._threads.record_crash(self.name, error)

    def _write(self, record: EventRecord) -> None:
        series = self._correlator.observe(record, self._clock.monotonic())
        if series is not None:
            self._deliver(record, series)
        self._look_again()

    def _look_again(self) -> None:
        """Schedule the final write of series that have ended."""
        if self._serieses is not None and len(self._serieses) and not self._looks_again:
            self._looks_again = True
            due = self._clock.monotonic() + IDLE_SECONDS
            self._clock.call_at(due, self._put_series)

    def _finish_series(self, now: float | None = None) -> None:
        self._looks_again = False
        if self._serieses is not None:
            now = self._clock.monotonic() if now is None else now
            for record, series in self._serieses.finished(now):
                self._deliver(record, series)
            self._look_again()

    def _put_series(self) -> None:
        if not self._queue.put(self._finish_series):
            self._looks_again = False  # the next event schedules it

    def _deliver(self, record: EventRecord, series: Series) -> None:
        is_hurried = False
        for attempt in range(1, _TRIES + 1):
            try:
                self._send(record, series)
            except ApiError as error:
                # A refused event will be refused again.
                _log.warning(
                    "Event refused",
                    reason=record.reason,
                    error=str(error),
                    namespace=namespace_of(record),
                )
                return
            except TransportError as error:
                if attempt == _TRIES or is_hurried:
                    _log.warning("Event lost", reason=record.reason, error=str(error))
                    return
                # Many recorders lose the server at once: spread their retries.
                pause = _RETRY_SECONDS * (self._uniform(0, 1) if attempt == 1 else 1)
                is_hurried = self._clock.wait(self._ending, pause)
            else:
                return

    def _send(self, record: EventRecord, series: Series) -> None:
        resource = self._form.resource
        if series.written:
            key = ObjectKey(namespace_of(record), series.name)
            try:
                self._client.patch(resource, key, self._form.change(series))
            except NotFoundError:
                series.written, series.name = False, ""  # it expired: create it again
            else:
                return
        # The same name for all tries: the event may exist although the response was
        # lost.
        series.name = series.name or _name(record)
        with suppress(AlreadyExistsError):
            self._client.create(resource, self._form.document(record, series))
        series.written = True


class NamedRecorder:
    """Records the events of one component. Safe from any thread."""

    def __init__(self, recorder: EventRecorder, source: str) -> None:
        self._recorder = recorder
        self._source = source

    def event(
        self,
        obj: AnyObject,
        type: EventType,  # noqa: A002 - the field's name
        reason: str,
        message: str,
        *,
        action: str = "",
    ) -> None:
        """Record an event of this component, as `EventRecorder.event` does."""
        self._recorder.event(
            obj, type, reason, message, action=action, source=self._source
        )


_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NO_LETTERS = re.compile("[^a-z0-9]+")


def _name(record: EventRecord) -> str:
    # Names of roles and the like have letters that an event's name may not have.
    start = record.key.name[:200]
    if not _NAME.fullmatch(start):
        start = _NO_LETTERS.sub("-", start.lower()).strip("-") or "object"
    return f"{start}.{random_id().replace('-', '')[:16]}"


def _reference_of(obj: JsonObject, key: ObjectKey) -> JsonObject:
    """Return the parts of an object that an event names, because the queue must not
    hold specs.
    """
    return {
        "apiVersion": obj.get("apiVersion"),
        "kind": obj.get("kind"),
        "metadata": {
            "name": cut(key.name),
            "namespace": key.namespace,
            "uid": uid_of(obj),
            "resourceVersion": resource_version(obj),
        },
    }
