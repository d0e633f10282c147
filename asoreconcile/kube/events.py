"""Events: what happened to an object, written where `kubectl describe` shows it.

Recording never blocks: events go through a bounded queue to one thread. The same event
again raises a count instead of making another; one object's flood of one reason is
thinned out without silencing its other reasons. Rules: runtime-semantics section 8.
"""

import threading
import uuid
from collections import OrderedDict, deque
from datetime import datetime
from typing import Literal, Protocol

import attrs

from asoreconcile.clock import Clock
from asoreconcile.errors import StoppedError
from asoreconcile.kube.errors import ApiError, NotFoundError, TransportError
from asoreconcile.kube.resources import EVENTS, ApiResource
from asoreconcile.log import Logger
from asoreconcile.objects import JsonObject, ObjectKey, key_of, resource_version, uid_of

EventType = Literal["Normal", "Warning"]

_log = Logger(__name__)

_QUEUED = 1000
_REMEMBERED = 4096
_BURST = 25
_REFILL_SECONDS = 300.0
_TRIES = 12
_RETRY_SECONDS = 10.0
_MAX_MESSAGE = 1024


class Client(Protocol):
    """Writes events (`kube.client.KubeClient`)."""

    def create(self, resource: ApiResource, obj: JsonObject) -> JsonObject: ...

    def patch(
        self, resource: ApiResource, key: ObjectKey, body: JsonObject
    ) -> JsonObject: ...


@attrs.frozen
class _Record:
    """An event to write. The same `identity` twice is one event seen twice."""

    obj: JsonObject = attrs.field(repr=False)
    type: EventType
    reason: str
    message: str
    at: datetime

    @property
    def identity(self) -> tuple[str, ...]:
        key = key_of(self.obj)
        return (
            uid_of(self.obj),
            str(key),
            str(self.obj.get("kind")),
            self.type,
            self.reason,
            self.message,
        )

    @property
    def flow(self) -> tuple[str, ...]:
        """What shares a budget: one reason of one object."""
        return self.identity[:-1]


@attrs.define
class _Written:
    key: ObjectKey
    count: int


@attrs.define
class _Budget:
    tokens: float
    since: float


class EventRecorder:
    """Records core/v1 events; a service of the manager. Safe from any thread."""

    def __init__(self, client: Client, source: str, *, clock: Clock) -> None:
        """source: the component that the events are said to come from."""
        self.name = "events"
        self._client = client
        self._source = source
        self._clock = clock
        self._queue: deque[_Record] = deque()
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._busy = False
        self._written: OrderedDict[tuple[str, ...], _Written] = OrderedDict()
        self._budgets: OrderedDict[tuple[str, ...], _Budget] = OrderedDict()
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
        record = _Record(
            _reference_of(obj), type, reason, _cut(message), self._clock.now()
        )
        with self._changed:
            if len(self._queue) >= _QUEUED:
                _log.warning("Dropping event", reason=reason, object=str(key_of(obj)))
                return
            self._queue.append(record)
            self._changed.notify()

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    def flush(self, timeout_seconds: float) -> bool:
        """Wait until all that was recorded is written; False when time ran out."""
        with self._changed:
            return self._changed.wait_for(
                lambda: not self._queue and not self._busy, timeout_seconds
            )

    def stop(self, timeout_seconds: float) -> list[str]:
        """Write what is queued, then end."""
        flushed = self._thread is None or self.flush(timeout_seconds)
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()
        return [] if flushed else [f"{self.name} ({len(self._queue)} not written)"]

    def _run(self) -> None:
        while (record := self._next()) is not None:
            try:
                self._write(record)
            except StoppedError:
                return
            finally:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()

    def _next(self) -> _Record | None:
        with self._changed:
            while not self._queue:
                if self._stopping.is_set():
                    return None
                self._changed.wait()
            self._busy = True
            return self._queue.popleft()

    def _write(self, record: _Record) -> None:
        if not self._within_budget(record):
            return
        for attempt in range(1, _TRIES + 1):
            try:
                self._send(record)
            except ApiError as error:
                # A refused event will be refused again.
                _log.warning("Event refused", reason=record.reason, error=str(error))
                return
            except TransportError as error:
                if attempt == _TRIES or self._clock.wait(
                    self._stopping, _RETRY_SECONDS
                ):
                    _log.warning("Event lost", reason=record.reason, error=str(error))
                    return
            else:
                return

    def _send(self, record: _Record) -> None:
        written = self._written.get(record.identity)
        if written is not None:
            change = {"count": written.count + 1, "lastTimestamp": _stamp(record.at)}
            try:
                self._client.patch(EVENTS, written.key, change)
            except NotFoundError:
                pass  # it expired: write it anew
            else:
                written.count += 1
                self._written.move_to_end(record.identity)
                return
        document = self._document(record)
        self._client.create(EVENTS, document)
        self._written[record.identity] = _Written(key_of(document), 1)
        while len(self._written) > _REMEMBERED:
            self._written.popitem(last=False)

    def _within_budget(self, record: _Record) -> bool:
        now = self._clock.monotonic()
        budget = self._budgets.setdefault(record.flow, _Budget(_BURST, now))
        self._budgets.move_to_end(record.flow)
        while len(self._budgets) > _REMEMBERED:
            self._budgets.popitem(last=False)
        refilled = (now - budget.since) / _REFILL_SECONDS
        budget.tokens = min(_BURST, budget.tokens + refilled)
        budget.since = now
        if budget.tokens < 1:
            return False
        budget.tokens -= 1
        return True

    def _document(self, record: _Record) -> JsonObject:
        key = key_of(record.obj)
        stamp = _stamp(record.at)
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{key.name[:200]}.{uuid.uuid4().hex[:16]}",
                "namespace": key.namespace or "default",
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
            "message": record.message,
            "source": {"component": self._source},
            "reportingComponent": self._source,
            "reportingInstance": "",
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
        }


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
