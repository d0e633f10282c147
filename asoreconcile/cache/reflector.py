"""Get the state, then watch, and again when that ends: one kind as a feed.

What goes wrong is told apart by what mends it: a watch that ended or broke goes on from
where it was; one that was refused waits, then goes on; a version that is too old, or
anything else, means to get the state again, of which the sink makes a difference. Runs
on one thread. Rules: RF-1 - RF-11, RF-13.
"""

import threading
from collections.abc import Callable, Iterator
from typing import Protocol

import attrs

from asoreconcile.cache.entry import Entry
from asoreconcile.cache.source import Selection, Source
from asoreconcile.cache.state import Silence, State, StreamingSupport, listed, streamed
from asoreconcile.clock import Clock
from asoreconcile.errors import AsoError, StoppedError
from asoreconcile.kube.errors import (
    ApiError,
    ExpiredError,
    GarbledError,
    NotFoundError,
    TooManyRequestsError,
    TransportError,
    event_error,
    is_from_the_future,
)
from asoreconcile.kube.watch import WatchStream
from asoreconcile.log import Logger
from asoreconcile.objects import JsonObject, resource_version

_log = Logger(__name__)

_WATCH_SECONDS = (300.0, 600.0)
_FIRST_DELAY_SECONDS = 0.8
_LAST_DELAY_SECONDS = 30.0
_CALM_SECONDS = 120.0
_VERY_SHORT_SECONDS = 1.0
# Servers that send bookmarks do so about once a minute.
_DEAD_SECONDS = 200.0
_AT_HAND = "0"
_NEWEST = ""


class BadObjectError(AsoError):
    """An object that a sink cannot take."""


class Sink(Protocol):
    """Takes what the reflector reads (`cache.informer.Informer`)."""

    def entry(self, obj: JsonObject) -> Entry:
        """What is kept of an object. Called one by one: lists may be long.

        Raises BadObjectError.
        """

    def replace(self, state: State) -> None:
        """The whole state."""

    def apply(self, type: str, obj: JsonObject) -> None:  # noqa: A002 - the wire's name
        """One ADDED, MODIFIED or DELETED. Raises BadObjectError."""

    def passed(self, resource_version: str) -> None:
        """A bookmark: nothing before this version is still to come."""


class Reflector:
    """Feeds a sink until stopped."""

    def __init__(
        self,
        source: Source,
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
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._stream: _Closable | None = None
        self._version = ""
        self._no_older_than = _AT_HAND
        self._delay = _FIRST_DELAY_SECONDS
        self._last_delay = clock.monotonic()
        self.last_activity = clock.monotonic()
        self.last_error = ""

    def run(self) -> None:
        """Read until `stop`; returns within moments of it."""
        while not self._stop.is_set():
            try:
                self._read()
            except StoppedError:
                return
            except Exception as error:  # noqa: BLE001 - no fault may end a kind's watch
                if not self._stop.is_set():
                    self._recover(error)

    def stop(self) -> None:
        """Ask `run` to return, and wake it wherever it waits. Any thread."""
        self._stop.set()
        with self._lock:
            if self._stream is not None:
                self._stream.close()

    def _read(self) -> None:
        """State and watches. Returns when stopped; raises what needs the state anew."""
        watch = self._state()
        while not self._stop.is_set():
            try:
                self._follow(watch or self._open())
            except GarbledError:
                raise
            except (TooManyRequestsError, TransportError) as error:
                # Nothing was missed: the next watch begins where this one ended.
                self._failed(error)
                self._back_off(error)
            watch = None

    def _recover(self, error: Exception) -> None:
        """Set up the next try to get the state, after a pause if one is due."""
        unknown = isinstance(error, ApiError) and (
            isinstance(error, ExpiredError) or is_from_the_future(error)
        )
        if unknown and self._no_older_than != _NEWEST:
            self._no_older_than = _NEWEST  # whatever that is, and at once
            self.last_error = ""
            return
        if not isinstance(error, AsoError):
            _log.exception("Watch failed", kind=str(self._selection.resource.gvk))
        self._failed(error)
        self._back_off(error)

    def _state(self) -> "_Watch | None":
        """Give the sink the state. Returns the watch that goes on from it, if open."""
        if self._streaming.expected:
            try:
                return self._streamed()
            except _NoStreamingError as error:
                _log.info(
                    "Listing, for want of a stream",
                    kind=str(self._selection.resource.gvk),
                    reason=str(error),
                )
        state = listed(
            self._source,
            self._selection,
            no_older_than=self._no_older_than,
            entry=self._sink.entry,
            opened=self._hold,
        )
        self._take_state(state)
        return None

    def _streamed(self) -> "_Watch":
        """Give the sink the state at the head of a watch; returns the watch.

        Raises _NoStreamingError where a list may do better.
        """
        try:
            watch = self._open(initial=True)
            return self._take_head(watch)
        except (ExpiredError, NotFoundError, TooManyRequestsError):
            raise
        except ApiError as error:
            if is_from_the_future(error):
                raise
            if error.status in (400, 422):
                self._streaming.missing()
            raise _NoStreamingError(str(error)) from error

    def _take_head(self, watch: "_Watch") -> "_Watch":
        silence = Silence(self._clock, watch.stream.close)
        try:
            state = streamed(watch.events, entry=self._sink.entry, heard=silence.heard)
            if state is not None:
                self._take_state(state)
                return attrs.evolve(watch, taken=1, since=state.version)
        except BaseException:
            self._close(watch)
            raise
        finally:
            was_silent = silence.cancel()
        self._close(watch)
        self._check_stop()
        if was_silent:
            self._streaming.missing()
            raise _NoStreamingError("the initial state has no end")
        raise TransportError("the watch ended inside the initial state")

    def _take_state(self, state: State) -> None:
        self._check_stop()
        self._sink.replace(state)
        self._version = state.version
        # The next state must not be older than this one: replicas lag.
        self._no_older_than = state.version or _AT_HAND
        self._active()

    def _open(self, *, initial: bool = False) -> "_Watch":
        self._check_stop()
        began = self._clock.monotonic()
        version = self._version
        if initial:
            version = "" if self._no_older_than == _AT_HAND else self._no_older_than
        stream = self._source.watch(
            self._selection.resource,
            resource_version=version,
            timeout_seconds=self._uniform(*_WATCH_SECONDS),
            initial_events=initial,
            **self._selection.options,
        )
        self._hold(stream)
        if initial:
            # Accepted, but still without the state that there was trouble to get.
            self.last_activity = self._clock.monotonic()
        else:
            self._active()
        return _Watch(stream, iter(stream), began, since=version)

    def _hold(self, stream: "_Closable") -> None:
        """Have `stop` close what is about to be read. Raises StoppedError."""
        with self._lock:
            self._stream = stream
        if self._stop.is_set():
            stream.close()
            self._check_stop()

    def _follow(self, watch: "_Watch") -> None:
        """Take a watch's events to its end, be it closed or broken."""
        events = watch.taken
        broken: TransportError | None = None
        silence: Silence | None = None
        try:
            for type_, obj in watch.events:
                events += 1
                if type_ == "BOOKMARK" and _is_before(
                    resource_version(obj), watch.since
                ):
                    raise _BehindError("the server is behind what it told before")
                self._take(type_, obj)
                if silence is not None:
                    silence.heard()
                elif type_ == "BOOKMARK":
                    # From here on, silence means that nobody is there any more.
                    close = watch.stream.close
                    silence = Silence(self._clock, close, seconds=_DEAD_SECONDS)
        except GarbledError:
            raise
        except TransportError as error:
            broken = error
            self._failed(error)
        finally:
            if silence is not None:
                silence.cancel()
            self._close(watch)
        short = self._clock.monotonic() - watch.began < _VERY_SHORT_SECONDS
        if short and not events and not self._stop.is_set():
            raise _VeryShortWatchError(
                f"the watch ended at once: {broken or 'without any event'}"
            )

    def _take(self, type_: str, obj: JsonObject) -> None:
        if type_ == "ERROR":
            raise event_error(obj)
        version = resource_version(obj)
        if type_ in ("ADDED", "MODIFIED", "DELETED"):
            try:
                self._sink.apply(type_, obj)
            except BadObjectError as error:
                _log.warning("Skipping watch event", reason=str(error), type=type_)
        elif type_ != "BOOKMARK":
            _log.warning("Skipping watch event of an unknown type", type=type_)
        elif not _is_before(version, self._version):
            self._sink.passed(version)
        if version and not _is_before(version, self._version):
            self._version = version
            self._no_older_than = version
        self._active()

    def _close(self, watch: "_Watch") -> None:
        watch.stream.close()
        with self._lock:
            self._stream = None

    def _active(self) -> None:
        self.last_activity = self._clock.monotonic()
        self.last_error = ""

    def _failed(self, error: Exception) -> None:
        self.last_error = f"{type(error).__name__}: {error}"
        _log.info(
            "Watch failed",
            kind=str(self._selection.resource.gvk),
            refused=isinstance(error, ApiError),
            reason=str(error),
        )

    def _back_off(self, error: Exception) -> None:
        asked = error.retry_after_seconds if isinstance(error, ApiError) else None
        now = self._clock.monotonic()
        if now - self._last_delay > _CALM_SECONDS:
            self._delay = _FIRST_DELAY_SECONDS
        seconds = max(asked or 0.0, self._delay * self._uniform(1.0, 2.0))
        self._delay = min(self._delay * 2, _LAST_DELAY_SECONDS)
        self._clock.wait(self._stop, seconds)
        self._last_delay = self._clock.monotonic()

    def _check_stop(self) -> None:
        if self._stop.is_set():
            raise StoppedError("the reflector is stopping")


class _Closable(Protocol):
    def close(self) -> None: ...


@attrs.frozen
class _Watch:
    """An open watch.

    events: its only iterator. since: the version that it goes on from. taken: how much
    of it has been, as the state.
    """

    stream: WatchStream
    events: Iterator[tuple[str, JsonObject]]
    began: float
    since: str
    taken: int = 0


class _NoStreamingError(AsoError):
    """The state cannot be streamed now; it may be listed."""


class _BehindError(AsoError):
    """A server that is older than we are: a replica far behind, or one restored.

    It would say nothing until it has got as far as we are, and then what we never saw
    would be missing.
    """


class _VeryShortWatchError(AsoError):
    """A watch that a server (or something before it) keeps ending at once."""


def _is_before(version: str, other: str) -> bool:
    """Whether a version is older: a bookmark that was overtaken takes nothing back."""
    if version.isdecimal() and other.isdecimal():
        return int(version) < int(other)
    return False
