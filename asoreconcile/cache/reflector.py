"""List, then watch, and again when that ends: one kind (in one namespace) as a feed.

What goes wrong is told apart by what mends it: a watch that ended normally goes on from
where it was; one that was refused waits, then goes on; a version that is too old, or
anything else, means to list again. Runs on one thread. Rules: RF-1 - RF-10, RF-13.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from asoreconcile.cache.entry import Entry
from asoreconcile.clock import Clock
from asoreconcile.errors import AsoError, StoppedError
from asoreconcile.kube.client import Page
from asoreconcile.kube.errors import (
    ApiError,
    ExpiredError,
    TooManyRequestsError,
    TransportError,
    event_error,
)
from asoreconcile.kube.resources import ApiResource
from asoreconcile.kube.watch import WatchStream
from asoreconcile.log import Logger
from asoreconcile.objects import JsonObject, metadata

_log = Logger(__name__)

_PAGE = 500
_WATCH_SECONDS = (300.0, 600.0)
_FIRST_DELAY_SECONDS = 0.8
_LAST_DELAY_SECONDS = 30.0
_CALM_SECONDS = 120.0
_VERY_SHORT_SECONDS = 1.0


class Source(Protocol):
    """Lists and watches (`kube.client.KubeClient`)."""

    def list_page(
        self,
        resource: ApiResource,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        resource_version: str | None = None,
        limit: int | None = None,
        continue_token: str = "",
        metadata_only: bool = False,
    ) -> Page: ...

    def watch(
        self,
        resource: ApiResource,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        resource_version: str = "",
        timeout_seconds: float,
        metadata_only: bool = False,
    ) -> WatchStream: ...


class Sink(Protocol):
    """Takes what the reflector reads (`cache.informer.Informer`)."""

    def entry(self, obj: JsonObject) -> Entry:
        """What is kept of an object. Called page by page: lists may be long."""

    def replace(self, entries: Sequence[Entry], resource_version: str) -> None:
        """The whole state, from a list."""

    def apply(self, type: str, obj: JsonObject) -> None:  # noqa: A002 - the wire's name
        """One ADDED, MODIFIED or DELETED."""

    def passed(self, resource_version: str) -> None:
        """A bookmark: nothing before this version is still to come."""


class Reflector:
    """Feeds a sink until stopped."""

    def __init__(
        self,
        source: Source,
        resource: ApiResource,
        sink: Sink,
        *,
        clock: Clock,
        uniform: Callable[[float, float], float],
        namespace: str | None = None,
        label_selector: str = "",
        metadata_only: bool = False,
    ) -> None:
        self._source = source
        self._resource = resource
        self._sink = sink
        self._clock = clock
        self._uniform = uniform
        self._namespace = namespace
        self._label_selector = label_selector
        self._metadata_only = metadata_only
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._stream: WatchStream | None = None
        self._version = ""
        self._list_version: str | None = "0"
        self._delay = _FIRST_DELAY_SECONDS
        self._last_delay = clock.monotonic()
        self.last_activity = clock.monotonic()
        self.last_error = ""

    def run(self) -> None:
        """List and watch until `stop`; returns within moments of it."""
        while not self._stop.is_set():
            try:
                self._list()
                self._watch_on()
            except StoppedError:
                return
            except ExpiredError:
                # Too old for the server: list anew at once, at the newest version.
                self._list_version = None
                self.last_error = ""
            except AsoError as error:
                self._failed(error)
                self._back_off()

    def stop(self) -> None:
        """Ask `run` to return, and wake it wherever it waits. Any thread."""
        self._stop.set()
        with self._lock:
            if self._stream is not None:
                self._stream.close()

    def _list(self) -> None:
        version = ""

        def pages() -> Iterable[JsonObject]:
            nonlocal version
            token = ""
            while True:
                self._check_stop()
                page = self._source.list_page(
                    self._resource,
                    namespace=self._namespace,
                    label_selector=self._label_selector,
                    # A continued list is at the version it began with.
                    resource_version=None if token else self._list_version,
                    limit=_PAGE,
                    continue_token=token,
                    metadata_only=self._metadata_only,
                )
                version = page.resource_version
                yield from page.items
                token = page.continue_token
                if not token:
                    return

        entries = [self._sink.entry(obj) for obj in pages()]
        self._sink.replace(entries, version)
        self._version = version
        self._list_version = "0"
        self._active()

    def _watch_on(self) -> None:
        """Watch from the last version, again and again. Raises what needs a list."""
        while not self._stop.is_set():
            began = self._clock.monotonic()
            try:
                events = self._watch_once()
            except TooManyRequestsError as error:
                self._failed(error)
                self._back_off(at_least=error.retry_after_seconds or 0.0)
                continue
            except TransportError as error:
                # Nothing was missed: the next watch begins where this one broke.
                self._failed(error)
                self._back_off()
                continue
            short = self._clock.monotonic() - began < _VERY_SHORT_SECONDS
            if short and not events and not self._stop.is_set():
                raise TransportError("the watch ended at once, without any event")

    def _watch_once(self) -> int:
        self._check_stop()
        stream = self._source.watch(
            self._resource,
            namespace=self._namespace,
            label_selector=self._label_selector,
            resource_version=self._version,
            timeout_seconds=self._uniform(*_WATCH_SECONDS),
            metadata_only=self._metadata_only,
        )
        with self._lock:
            self._stream = stream
            if self._stop.is_set():
                stream.close()
        self._active()
        events = 0
        try:
            for type_, obj in stream:
                events += 1
                self._take(type_, obj)
        finally:
            stream.close()
            with self._lock:
                self._stream = None
        return events

    def _take(self, type_: str, obj: JsonObject) -> None:
        if type_ == "ERROR":
            raise event_error(obj)
        version = str(metadata(obj).get("resourceVersion") or "")
        if type_ in ("ADDED", "MODIFIED", "DELETED"):
            self._sink.apply(type_, obj)
        elif type_ == "BOOKMARK":
            self._sink.passed(version)
        else:
            _log.warning("Unknown watch event", kind=self._resource.kind, type=type_)
        if version:
            self._version = version
        self._active()

    def _active(self) -> None:
        self.last_activity = self._clock.monotonic()
        self.last_error = ""

    def _failed(self, error: AsoError) -> None:
        self.last_error = f"{type(error).__name__}: {error}"
        refused = isinstance(error, ApiError)
        _log.info(
            "Watch failed",
            kind=str(self._resource.gvk),
            refused=refused,
            reason=str(error),
        )

    def _back_off(self, *, at_least: float = 0.0) -> None:
        now = self._clock.monotonic()
        if now - self._last_delay > _CALM_SECONDS:
            self._delay = _FIRST_DELAY_SECONDS
        seconds = max(at_least, self._delay * self._uniform(1.0, 2.0))
        self._delay = min(self._delay * 2, _LAST_DELAY_SECONDS)
        self._clock.wait(self._stop, seconds)
        self._last_delay = self._clock.monotonic()

    def _check_stop(self) -> None:
        if self._stop.is_set():
            raise StoppedError("the reflector is stopping")
