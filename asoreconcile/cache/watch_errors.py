"""Decides how a failed watch continues, and after which wait. Pure.

Rules: RF-1, RF-2, RF-7, RF-11.
"""

from collections.abc import Callable
from enum import Enum

from asoreconcile.base.backoff import Pauses
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.kube.errors import (
    ApiError,
    DecodeError,
    ExpiredError,
    ForbiddenError,
    NotFoundError,
    TooManyRequestsError,
    TransportError,
    UnauthorizedError,
    is_resource_version_too_large,
)
from asoreconcile.kube.resources import ApiResource

# client-go's: doubled up to half a minute, and forgotten after two calm minutes.
_FIRST_DELAY_SECONDS = 0.8
_LAST_DELAY_SECONDS = 30.0
_RESET_AFTER_SECONDS = 120.0


class BehindError(AsoreconcileError):
    """The server's state is older than the cache's: a lagging replica, or a restored
    backup.

    A watch would send nothing until the server reaches the cache's version, and changes
    in between would be lost.
    """


class VeryShortWatchError(AsoreconcileError):
    """The server, or a proxy before it, ends a watch again and again at once."""


class WatchRecovery(Enum):
    """RESUME: watch again from the same version, after a pause: no event was lost.
    NEWEST: list the newest state at once: the server does not know the version.
    RELIST: list again, after a pause.
    """

    RESUME = "resume"
    NEWEST = "newest"
    RELIST = "relist"


def recovery_of(error: Exception) -> WatchRecovery:
    """Return the recovery after an error of a watch or its initial list."""
    # An event could not be decoded: only a list shows what it changed.
    if isinstance(error, DecodeError):
        return WatchRecovery.RELIST
    if isinstance(error, TooManyRequestsError | TransportError):
        return WatchRecovery.RESUME
    if isinstance(error, ApiError) and _is_unknown_version(error):
        return WatchRecovery.NEWEST
    return WatchRecovery.RELIST


def describe_error(error: Exception, resource: ApiResource) -> str:
    """Describe the error for the person who has to fix it.

    For a missing kind the text says that its CRD is missing; servers only respond
    "404".
    """
    if isinstance(error, NotFoundError):
        kind = f"{resource.plural} of {resource.api_version}"
        return f"the server does not serve {kind}: its CRD is not there, or not yet"
    return str(error)


def advice_on(error: Exception) -> str:
    """Return what a person can do about the error; the watch is tried again anyway."""
    match error:
        case NotFoundError():
            return "install the CRD, with kubectl apply or install_crds"
        case ForbiddenError():
            return "grant list and watch of this kind to the user"
        case UnauthorizedError():
            return "renew the credential of the user"
        case TransportError():
            return "look whether the server runs, and whether the kubeconfig names it"
    return "nothing: it is tried again"


class Streaming(Enum):
    """The decision whether to list after a streamed list was refused.

    ALSO: a list would be refused, too. NOW: list this time. ALWAYS: list from now on,
    because the kind cannot be streamed.
    """

    ALSO = "also"
    NOW = "now"
    ALWAYS = "always"


def instead_of_stream(error: ApiError) -> Streaming:
    """Decide after a streamed list was refused."""
    if isinstance(error, NotFoundError | TooManyRequestsError):
        return Streaming.ALSO
    if _is_unknown_version(error):
        return Streaming.ALSO
    # 422: the server knows the feature, but it is off. 400: it does not know the
    # parameter.
    return Streaming.ALWAYS if error.status in (400, 422) else Streaming.NOW


class WatchBackoff:
    """Exponential back-off with jitter; it resets after a calm time."""

    def __init__(self, uniform: Callable[[float, float], float], *, now: float) -> None:
        self._uniform = uniform
        self._pauses = Pauses(_FIRST_DELAY_SECONDS, _LAST_DELAY_SECONDS)
        self._last = now

    def seconds(self, error: Exception, *, now: float) -> float:
        """Return seconds to wait; not less than the server asked for."""
        asked = error.retry_after_seconds if isinstance(error, ApiError) else None
        if now - self._last > _RESET_AFTER_SECONDS:
            self._pauses.reset()
        return max(asked or 0.0, self._pauses.next() * self._uniform(1.0, 2.0))

    def wait_ended(self, *, now: float) -> None:
        """Record the end of the pause: the calm time counts from here."""
        self._last = now


def _is_unknown_version(error: ApiError) -> bool:
    return isinstance(error, ExpiredError) or is_resource_version_too_large(error)
