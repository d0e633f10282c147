"""Get the state, then watch, and again when that ends: one kind as a feed.

What goes wrong is distinguished by what mends it: a watch that ended or broke goes on
from where it was; one that was refused waits, then goes on; a version that is too old,
or anything else, means to get the state again, of which the sink makes a difference.
Runs in steps, on one thread at a time. Rules: RF-1 - RF-11, RF-13.
"""

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

import attrs

from asoreconcile.cache.entry import Entry
from asoreconcile.cache.initial_list import (
    InactivityTimer,
    InitialList,
    StreamingSupport,
    listed,
    streamed,
)
from asoreconcile.cache.resume_point import ResumePoint
from asoreconcile.cache.source import SteppedSource
from asoreconcile.cache.watch_errors import (
    Streaming,
    WatchBackoff,
    WatchRecovery,
    describe_error,
    instead_of_stream,
    recovery_of,
)
from asoreconcile.cache.watching import BookmarkSupport, OpenWatch
from asoreconcile.clock import Clock
from asoreconcile.errors import AsoreconcileError, StoppedError
from asoreconcile.kube.errors import ApiError, TransportError, event_error
from asoreconcile.kube.selection import Selection
from asoreconcile.lazy_event import LazyEvent
from asoreconcile.log import Logger
from asoreconcile.objects import JsonObject, resource_version
from asoreconcile.steps import Stepwise

_log = Logger(__name__)

# As client-go: each ends at a moment of its own, so that not all kinds of all replicas
# come back to the server at once.
_WATCH_SECONDS = (300.0, 600.0)


class _Closable(Protocol):
    def close(self) -> None: ...


_C = TypeVar("_C", bound=_Closable)


class Sink(Protocol):
    """Takes what the reflector reads (`cache.informer.Informer`)."""

    def entry(self, obj: JsonObject) -> Entry | None:
        """What is kept of an object of the state; None if it cannot be read. Called
        one by one: lists may be long.
        """

    def replace(self, state: InitialList) -> None:
        """Take the whole state in place of the former one."""

    def apply(self, type: str, obj: JsonObject) -> None:  # noqa: A002 - the wire's name
        """Take one ADDED, MODIFIED or DELETED event."""

    def advance(self, resource_version: str) -> None:
        """A bookmark: nothing before this version is still to come."""


class Reflector:
    """Lists a kind, watches it, and gives a sink what comes, until it is stopped."""

    def __init__(
        self,
        source: SteppedSource,
        selection: Selection,
        sink: Sink,
        *,
        clock: Clock,
        uniform: Callable[[float, float], float],
        streaming: StreamingSupport,
    ) -> None:
        """streaming: shared by the reflectors of a server."""
        self._source = source
        self._selection = selection
        self._sink = sink
        self._clock = clock
        self._uniform = uniform
        self._streaming = streaming
        self.stopping = LazyEvent()
        """Set once `stop` was called."""
        self._lock = threading.Lock()
        self._wake: Callable[[], None] = _nobody_waits
        self._stream: _Closable | None = None
        self._resume_point = ResumePoint()
        self._bookmarks = BookmarkSupport()
        self._backoff = WatchBackoff(uniform, now=clock.monotonic())
        self.last_activity = clock.monotonic()
        self.last_error = ""

    def run(self) -> None:
        """Read until `stop`, on this thread; returns within moments of it."""
        woken = threading.Event()
        for pause in self.steps(woken.set):
            if pause is None:
                woken.wait()
                woken.clear()
            else:
                self._clock.wait(self.stopping, pause)

    def steps(self, wake: Callable[[], None]) -> Stepwise[None]:
        """Read until `stop`, in steps. wake: has them resumed; any thread may call it
        as soon as this begins.
        """
        self._wake = wake
        while not self.stopping.is_set():
            try:
                yield from self._read()
            except StoppedError:
                return
            except Exception as error:  # noqa: BLE001 - no fault may end a kind's watch
                if not self.stopping.is_set():
                    yield from self._recover(error)

    def stop(self) -> None:
        """Ask `run` to return, and wake it wherever it waits. Any thread."""
        self.stopping.set()
        with self._lock:
            if self._stream is not None:
                self._stream.close()
        self._wake()

    def renew(self, since: float) -> bool:
        """Open the watch again, from where it is, if it has heard nothing since a
        moment of the clock; whether that was so. Any thread.
        """
        with self._lock:
            stream = self._stream
            if stream is None or self.last_activity >= since:
                return False
        stream.close()
        return True

    def _read(self) -> Stepwise[None]:
        """State and watches. Returns when stopped; raises what needs a new list."""
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

    def _recover(self, error: Exception) -> Stepwise[None]:
        """Set up the next try to get the state, after a pause if one is due."""
        # An old version is nobody's fault: the newest state is asked for at once. If
        # that is refused in the same way, something is wrong, and it waits like any
        # failure.
        if recovery_of(error) is WatchRecovery.NEWEST and self._resume_point.forget():
            self.last_error = ""
            return
        if not isinstance(error, AsoreconcileError):
            _log.exception("Watch failed", kind=str(self._selection.resource.gvk))
        self._failed(error)
        yield from self._pause(error)

    def _state(self) -> Stepwise[OpenWatch | None]:
        """Give the sink the state. Returns the watch that goes on from it, if open."""
        if self._streaming.expected:
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

    def _streamed(self) -> Stepwise[OpenWatch]:
        """Give the sink the state at the head of a watch; returns the watch.

        Raises _NoStreamingError where a list may do better.
        """
        try:
            watch = yield from self._open(initial=True)
            return (yield from self._take_head(watch))
        except ApiError as error:
            instead = instead_of_stream(error)
            if instead is Streaming.ALSO:
                raise
            if instead is Streaming.ALWAYS:
                self._streaming.missing()
            raise _NoStreamingError(str(error)) from error

    def _take_head(self, watch: OpenWatch) -> Stepwise[OpenWatch]:
        inactivity = InactivityTimer(self._clock, watch.stream.close)
        try:
            state = yield from streamed(
                watch.events, entry=self._sink.entry, reset=inactivity.reset
            )
            if state is not None:
                self._take_state(state)
                self._bookmarks.expected = True  # it has just sent one
                return attrs.evolve(watch, taken=1, since=state.version)
        # GeneratorExit too: who is stopped between two steps leaves nobody else to
        # close it.
        except BaseException:
            self._close(watch)
            raise
        finally:
            was_silent = inactivity.cancel()
        self._close(watch)
        self._check_stop()
        if was_silent:
            self._streaming.missing()
            raise _NoStreamingError("the initial state has no end")
        raise TransportError("the watch ended inside the initial state")

    def _take_state(self, state: InitialList) -> None:
        # What was read of a stream that `stop` has closed may be less than the state.
        self._check_stop()
        self._sink.replace(state)
        self._resume_point.begin(state.version)
        self._active()

    def _open(self, *, initial: bool = False) -> Stepwise[OpenWatch]:
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
            # Accepted, but still without the state that there was trouble to get.
            self.last_activity = self._clock.monotonic()
        else:
            self._active()
        return OpenWatch(stream, stream.polled(), began, since=version)

    def _opened(self, steps: Stepwise[_C]) -> Stepwise[_C]:
        """What the steps open, held for `stop` to close. Raises StoppedError."""
        try:
            # Not `yield from`: a stop is to be seen between two steps.
            while True:
                try:
                    pause = next(steps)
                except StopIteration as ended:
                    opened: _C = ended.value
                    break
                yield pause
                self._check_stop()
        finally:
            steps.close()
        self._hold(opened)
        return opened

    def _hold(self, stream: _Closable) -> None:
        """Have `stop` close what is about to be read. Raises StoppedError."""
        with self._lock:
            self._stream = stream
        # Stopped before the stream was there for `stop` to close: nobody else would.
        if self.stopping.is_set():
            stream.close()
            self._check_stop()

    def _follow(self, watch: OpenWatch) -> Stepwise[None]:
        """Take a watch's events to its end, be it closed or broken."""
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
        self.last_error = f"{type(error).__name__}: {reason}"
        _log.info(
            "Watch failed",
            kind=str(self._selection.resource.gvk),
            refused=isinstance(error, ApiError),
            reason=reason,
        )

    def _pause(self, error: Exception) -> Stepwise[None]:
        yield self._backoff.seconds(error, now=self._clock.monotonic())
        self._backoff.wait_ended(now=self._clock.monotonic())

    def _check_stop(self) -> None:
        if self.stopping.is_set():
            raise StoppedError("the reflector is stopping")


def _nobody_waits() -> None:
    """Until it runs."""


class _NoStreamingError(AsoreconcileError):
    """The state cannot be streamed now; it may be listed."""
