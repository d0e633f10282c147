"""What mends a feed that failed, and how long to wait before. Pure.

Rules: RF-1, RF-2, RF-7, RF-11.
"""

from collections.abc import Callable
from enum import Enum

from asoreconcile.errors import AsoreconcileError
from asoreconcile.kube.errors import (
    ApiError,
    DecodeError,
    ExpiredError,
    NotFoundError,
    TooManyRequestsError,
    TransportError,
    is_resource_version_too_large,
)
from asoreconcile.kube.resources import ApiResource

# client-go's: doubled up to half a minute, and forgotten after two calm minutes.
_FIRST_DELAY_SECONDS = 0.8
_LAST_DELAY_SECONDS = 30.0
_RESET_AFTER_SECONDS = 120.0


class BehindError(AsoreconcileError):
    """A server that is older than we are: a replica far behind, or one restored.

    It would say nothing until it has got as far as we are, and then what we never saw
    would be missing.
    """


class VeryShortWatchError(AsoreconcileError):
    """A watch that a server (or something before it) keeps ending at once."""


class WatchRecovery(Enum):
    """RESUME: watch on from the same version, after a pause: nothing was missed.
    NEWEST: get the newest state, at once: the version is unknown to the server.
    RELIST: get the state again, after a pause.
    """

    RESUME = "resume"
    NEWEST = "newest"
    RELIST = "relist"


def recovery_of(error: Exception) -> WatchRecovery:
    """For a watch, or the state before it, that ended in an error."""
    # What could not be read was an event: only the state shows what it changed.
    if isinstance(error, DecodeError):
        return WatchRecovery.RELIST
    if isinstance(error, TooManyRequestsError | TransportError):
        return WatchRecovery.RESUME
    if isinstance(error, ApiError) and _is_unknown_version(error):
        return WatchRecovery.NEWEST
    return WatchRecovery.RELIST


def describe_error(error: Exception, resource: ApiResource) -> str:
    """What went wrong, for who has to mend it.

    A whole kind is never absent but for its definition; servers only say "404".
    """
    if isinstance(error, NotFoundError):
        kind = f"{resource.plural} of {resource.api_version}"
        return f"the server does not serve {kind}: its CRD is not there, or not yet"
    return str(error)


class Streaming(Enum):
    """What the refusal of a streamed state says of a list instead.

    ALSO: it would be refused too. NOW: it may do better this once. ALWAYS: the server
    does not stream.
    """

    ALSO = "also"
    NOW = "now"
    ALWAYS = "always"


def instead_of_stream(error: ApiError) -> Streaming:
    """For a state that was asked for as a stream, and refused."""
    if isinstance(error, NotFoundError | TooManyRequestsError):
        return Streaming.ALSO
    if _is_unknown_version(error):
        return Streaming.ALSO
    # 422: the server knows the feature, which is off. 400: it knows no such request.
    return Streaming.ALWAYS if error.status in (400, 422) else Streaming.NOW


class WatchBackoff:
    """Pauses that double while there is no calm between them, spread at random."""

    def __init__(self, uniform: Callable[[float, float], float], *, now: float) -> None:
        self._uniform = uniform
        self._delay = _FIRST_DELAY_SECONDS
        self._last = now

    def seconds(self, error: Exception, *, now: float) -> float:
        """How long to wait; not less than the server asked for."""
        asked = error.retry_after_seconds if isinstance(error, ApiError) else None
        if now - self._last > _RESET_AFTER_SECONDS:
            self._delay = _FIRST_DELAY_SECONDS
        pause = max(asked or 0.0, self._delay * self._uniform(1.0, 2.0))
        self._delay = min(self._delay * 2, _LAST_DELAY_SECONDS)
        return pause

    def wait_ended(self, *, now: float) -> None:
        """The pause is over: calm is counted from here."""
        self._last = now


def _is_unknown_version(error: ApiError) -> bool:
    return isinstance(error, ExpiredError) or is_resource_version_too_large(error)
