"""Reads of Azure for commands: they wait for the rate limit, and are repeated if that
may help.

A person waits for a command; a reconcile never waits.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeVar

import attrs
import tenacity

from asoreconcile.azure.arm.budget import ThrottledError
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.objects import JsonObject

T = TypeVar("T")

# With pauses of 1, 2, 4 and 8 s: a person waits for the command.
_ATTEMPTS = 5
_BACKOFF = tenacity.wait_exponential(multiplier=1.0, max=30.0)
# The minimum wait: throttled reads are repeated without limit, so never at full speed.
_LEAST_SECONDS = 1.0


class ReadClient(Protocol):
    """The methods of `arm.client.ArmClient` that reads of commands use."""

    def get(self, arm_id: str, api_version: str) -> JsonObject:
        """Return the resource's body. Blocking; raises ArmError, ArmTransportError."""

    def head(self, arm_id: str, api_version: str) -> bool:
        """Return whether the resource exists. Blocking; raises as `get`."""

    def list(
        self, path: str, api_version: str, *, query: Mapping[str, str] | None = None
    ) -> Iterator[JsonObject]:
        """Yield the entries of a list; raises as `get`."""


@attrs.frozen
class PatientReads:
    """Reads resources, and blocks until ARM answers. Thread-safe.

    on_wait: called with the seconds and the reason before each wait. stop: ends every
    wait; reads raise StoppedError then. A throttled read waits as long as ARM asks for,
    without limit. A read that fails otherwise, without saying anything about the
    resource, is tried up to five times.
    """

    _client: ReadClient
    _clock: Clock
    _stop: threading.Event
    _on_wait: Callable[[float, str], None]

    def get(self, arm_id: str, api_version: str) -> JsonObject:
        """Read a resource. Raises ArmError, ArmTransportError, StoppedError."""
        return self._patiently(lambda: self._client.get(arm_id, api_version))

    def head(self, arm_id: str, api_version: str) -> bool:
        """Return whether the resource exists. Raises as `get`."""
        return self._patiently(lambda: self._client.head(arm_id, api_version))

    def list(
        self, path: str, api_version: str, *, query: Mapping[str, str] | None = None
    ) -> Iterator[JsonObject]:
        """Return the entries of all pages of a list. Raises as `get`."""
        read = self._client.list
        return iter(self._patiently(lambda: [*read(path, api_version, query=query)]))

    def _patiently(self, read: Callable[[], T]) -> T:
        failures = 0

        def give_up(state: tenacity.RetryCallState) -> bool:
            nonlocal failures
            # Throttling does not count as a failure: it ends, and an import has time.
            failures += not _is_throttled(_error_of(state))
            return failures >= _ATTEMPTS

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_may_heal),
            wait=_wait_seconds,
            stop=give_up,
            sleep=self._sleep,
            before_sleep=self._report_retry,
            reraise=True,
        )
        self._require_running()
        return retrying(read)

    def _report_retry(self, state: tenacity.RetryCallState) -> None:
        assert state.next_action is not None  # noqa: S101 -- set before it sleeps
        self._on_wait(state.next_action.sleep, str(_error_of(state)))

    def _sleep(self, seconds: float) -> None:
        self._clock.wait(self._stop, seconds)
        self._require_running()

    def _require_running(self) -> None:
        if self._stop.is_set():
            raise StoppedError("stopped before all was read")


def _error_of(state: tenacity.RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome is not None else None


def _may_heal(error: BaseException) -> bool:
    if isinstance(error, ArmError):
        return error.is_transient
    return isinstance(error, ThrottledError | ArmTransportError)


def _is_throttled(error: BaseException | None) -> bool:
    if isinstance(error, ArmError):
        return error.is_throttled
    return isinstance(error, ThrottledError)


def _wait_seconds(state: tenacity.RetryCallState) -> float:
    error = _error_of(state)
    if isinstance(error, ThrottledError):
        return error.after_seconds
    if isinstance(error, ArmError) and error.retry_after_seconds is not None:
        return max(error.retry_after_seconds, _LEAST_SECONDS)
    return _BACKOFF(state)
