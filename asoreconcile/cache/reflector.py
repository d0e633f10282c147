"""The reflector: lists one kind, watches it, and starts again when the watch ends.

The kind of failure decides the next step. A watch that ended or broke is resumed from
its last version. A refused watch is resumed after a back-off. After an expired resource
version, or any other failure, the kind is listed again, and the sink derives the
changes. Runs in steps, on one thread at a time. Rules: RF-1 - RF-11, RF-13.
"""

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.coroutines import Coroutine
from asoreconcile.base.errors import AsoreconcileError, StoppedError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import JsonObject, resource_version
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.initial_list import (
    InactivityTimer,
    InitialList,
    StreamingSupport,
    listed,
    streamed,
)
from asoreconcile.cache.resume_point import ResumePoint
from asoreconcile.cache.watch_errors import (
    Streaming,
    WatchBackoff,
    WatchRecovery,
    advice_on,
    describe_error,
    instead_of_stream,
    recovery_of,
)
from asoreconcile.cache.watching import BookmarkSupport, OpenWatch
from asoreconcile.kube.errors import (
    ApiError,
    ForbiddenError,
    NotFoundError,
    TransportError,
    UnauthorizedError,
    event_error,
)
from asoreconcile.kube.selection import Selection
from asoreconcile.kube.streams import KubeStreams

_log = Logger(__name__)

# As in client-go: random timeouts, so that not all watches of all replicas reconnect at
# once.
_WATCH_SECONDS = (300.0, 600.0)


class _Closable(Protocol):
    def close(self) -> None: ...


_C = TypeVar("_C", bound=_Closable)


class Sink(Protocol):
    """Receives the objects and events that the reflector reads
    (`cache.informer.Informer`).
    """

    def entry(self, obj: JsonObject) -> Entry | None:
        """Make the cache entry of a listed object; None if it cannot be read. Called
        for
        one object at a time: lists may be long.
        """

    def replace(self, state: InitialList) -> None:
        """Replace the whole state, after a list."""

    def apply(self, type: str, obj: JsonObject) -> None:  # noqa: A002 - the wire's name
        """Apply one ADDED, MODIFIED or DELETED event."""

    def advance(self, resource_version: str) -> None:
        """Record a bookmark: all events up to this version have been delivered."""


class _ClosedError(Exception):
    """The client of the watch is closed, so that the watch cannot continue."""


class Reflector:
    """Lists and watches a kind, and passes everything to a sink, until it is
    stopped.
    """

    def __init__(
        self,
        source: KubeStreams,
        selection: Selection,
        sink: Sink,
        *,
        clock: Clock,
        uniform: Callable[[float, float], float],
        streaming: StreamingSupport,
    ) -> None:
        """streaming: knowledge about streamed lists, shared by the reflectors of a
        server.
        """
        self._source = source
        self._selection = selection
        self._sink = sink
        self._clock = clock
        self._uniform = uniform
        self._streaming = streaming
        self._is_refused = False
        self._has_state = False
        self.stopping = threading.Event()
        """Set once `stop` was called."""
        self._lock = threading.Lock()
        self._wake: Callable[[], None] = lambda: None
        self._stream: _Closable | None = None
        self._resume_point = ResumePoint()
        self._bookmarks = BookmarkSupport()
        self._backoff = WatchBackoff(uniform, now=clock.monotonic())
        self.last_activity = clock.monotonic()
        self.last_error = ""

    def steps(self, wake: Callable[[], None]) -> Coroutine[None]:
        """List and watch until `stop`, in steps. wake: called, from any thread, to have
        the steps resumed.
        """
        self._wake = wake
        while not self.stopping.is_set():
            try:
                yield from self._read()
            except _ClosedError:
                return
            except Exception as error:  # noqa: BLE001 - no fault may end a kind's watch
                if not self.stopping.is_set():
                    yield from self._recover(error)

    def stop(self) -> None:
        """Ask the steps to end, and interrupt their waits. Any thread."""
        self.stopping.set()
        with self._lock:
            if self._stream is not None:
                self._stream.close()
        self._wake()

    def renew(self, since: float) -> bool:
        """Reopen the watch from its last version, if it has received nothing since a
        given time; returns whether it was reopened. Any thread.
        """
        with self._lock:
            stream = self._stream
            if stream is None or self.last_activity >= since:
                return False
        stream.close()
        return True

    def _read(self) -> Coroutine[None]:
        """Read the state, then watch.

        Returns when stopped; raises errors after which the kind must be listed again.
        """
        watch = yield from self._state()
        while not self.stopping.is_set():
            try:
                yield from self._follow(watch or (yield from self._open()))
            except (ApiError, TransportError) as error:
                if recovery_of(error) is not WatchRecovery.RESUME:
                    raise
                self._failed(error)
                yield from self._pause(error)
            watch = None

    def _recover(self, error: Exception) -> Coroutine[None]:
        """Prepare the next list, after a back-off if one is due."""
        # An expired version is normal: list the newest state at once. If that fails in
        # the same way, back off as for any failure.
        if recovery_of(error) is WatchRecovery.NEWEST and self._resume_point.forget():
            self.last_error = ""
            return
        if not isinstance(error, AsoreconcileError):
            _log.exception("Watch failed", kind=str(self._selection.resource.gvk))
        self._failed(error)
        yield from self._pause(error)

    def _state(self) -> Coroutine[OpenWatch | None]:
        """Read the state and pass it to the sink. Return the watch that continues the
        stream, if it was streamed.
        """
        if self._streaming.expected and not self._is_refused:
            try:
                return (yield from self._streamed())
            except _NoStreamingError as error:
                _log.info(
                    "Listing, for want of a stream",
                    kind=str(self._selection.resource.gvk),
                    reason=str(error),
                )
        state = yield from listed(
            self._source,
            self._selection,
            no_older_than=self._resume_point.no_older_than,
            entry=self._sink.entry,
            opened=self._opened,
            wake=self._wake,
        )
        self._take_state(state)
        return None

    def _streamed(self) -> Coroutine[OpenWatch]:
        """Pass the sink the state streamed at the start of a watch; returns the watch.

        Raises _NoStreamingError if a list may succeed instead.
        """
        try:
            watch = yield from self._open(initial=True)
            return (yield from self._take_head(watch))
        except ApiError as error:
            instead = instead_of_stream(error)
            if instead is Streaming.ALSO:
                raise
            self._is_refused = instead is Streaming.ALWAYS
            raise _NoStreamingError(str(error)) from error

    def _take_head(self, watch: OpenWatch) -> Coroutine[OpenWatch]:
        inactivity = InactivityTimer(self._clock, watch.stream.close)
        try:
            state = yield from streamed(
                watch.events, entry=self._sink.entry, reset=inactivity.reset
            )
            if state is not None:
                self._take_state(state)
                self._streaming.proven()
                self._bookmarks.expected = True  # the server has just sent one
                return attrs.evolve(watch, taken=1, since=state.version)
        # Also on GeneratorExit: after a stop between two steps nothing else closes it.
        except BaseException:
            self._close(watch)
            raise
        finally:
            was_silent = inactivity.cancel()
        self._close(watch)
        self._check_stop()
        if was_silent:
            self._streaming.silent()
            self._is_refused = True
            raise _NoStreamingError("the initial state has no end")
        raise TransportError("the watch ended before it had sent all objects")

    def _take_state(self, state: InitialList) -> None:
        # A stream that `stop` closed may be incomplete.
        self._check_stop()
        self._sink.replace(state)
        self._has_state = True
        self._resume_point.begin(state.version)
        self._active()

    def _open(self, *, initial: bool = False) -> Coroutine[OpenWatch]:
        self._check_stop()
        began = self._clock.monotonic()
        version = (
            self._resume_point.stream_from if initial else self._resume_point.version
        )
        stream = yield from self._opened(
            self._source.watch(
                self._selection,
                resource_version=version,
                timeout_seconds=self._uniform(*_WATCH_SECONDS),
                initial_events=initial,
                wake=self._wake,
            )
        )
        if initial:
            # The watch was accepted, but the state is still missing.
            self.last_activity = self._clock.monotonic()
        else:
            self._active()
        return OpenWatch(stream, stream.polled(), began, since=version)

    def _opened(self, steps: Coroutine[_C]) -> Coroutine[_C]:
        """Run the steps that open a stream, and register it for `stop` to close. Raises
        StoppedError.
        """
        try:
            # Not `yield from`: check for a stop between two steps.
            while True:
                try:
                    pause = next(steps)
                except StopIteration as ended:
                    opened: _C = ended.value
                    break
                # No code of others runs here: the watch's own client is closed.
                except StoppedError as error:
                    raise _ClosedError from error
                yield pause
                self._check_stop()
        finally:
            steps.close()
        self._hold(opened)
        return opened

    def _hold(self, stream: _Closable) -> None:
        """Register a stream for `stop` to close. Raises StoppedError."""
        with self._lock:
            self._stream = stream
        # Stopped before the stream was registered: `stop` cannot close it.
        if self.stopping.is_set():
            stream.close()
            self._check_stop()

    def _follow(self, watch: OpenWatch) -> Coroutine[None]:
        """Process a watch's events until it is closed or breaks."""
        try:
            broken = yield from watch.follow(
                self._take,
                clock=self._clock,
                bookmarks=self._bookmarks,
                last_activity=lambda: self.last_activity,
            )
        finally:
            self._close(watch)
        if broken is not None:
            self._failed(broken)

    def _take(self, type_: str, obj: JsonObject) -> None:
        if type_ == "ERROR":
            raise event_error(obj)
        version = resource_version(obj)
        if type_ in ("ADDED", "MODIFIED", "DELETED"):
            self._sink.apply(type_, obj)
        elif type_ != "BOOKMARK":
            _log.warning("Skipping watch event of an unknown type", type=type_)
        if self._resume_point.advance(version) and type_ == "BOOKMARK":
            self._sink.advance(version)
        self.last_activity = self._clock.monotonic()
        self.last_error = ""

    def _close(self, watch: OpenWatch) -> None:
        watch.stream.close()
        with self._lock:
            self._stream = None

    def _active(self) -> None:
        self.last_activity = self._clock.monotonic()
        self.last_error = ""

    def _failed(self, error: Exception) -> None:
        reason = describe_error(error, self._selection.resource)
        before, self.last_error = self.last_error, f"{type(error).__name__}: {reason}"
        # Only a person can fix these; do not log every retry. A server that answered
        # before comes back in most cases, and its probe reports its absence.
        by_person = (ForbiddenError, UnauthorizedError, NotFoundError)
        never_answered = not (before or self._has_state)
        is_for_person = isinstance(error, by_person) or never_answered
        log = _log.warning if is_for_person else _log.info
        if self.last_error == before:
            log = _log.debug
        log(
            "Watch failed",
            kind=str(self._selection.resource.gvk),
            refused=isinstance(error, ApiError),
            reason=reason,
            toDo=advice_on(error),
        )

    def _pause(self, error: Exception) -> Coroutine[None]:
        yield self._backoff.seconds(error, now=self._clock.monotonic())
        self._backoff.wait_ended(now=self._clock.monotonic())

    def _check_stop(self) -> None:
        if self.stopping.is_set():
            raise StoppedError("the reflector is stopping")


class _NoStreamingError(AsoreconcileError):
    """The state cannot be streamed now; a list may succeed."""
