"""Decide if and when the client retries a failed request. Pure.

It retries only an error response with Retry-After, and a read whose connection was
lost. The caller retries everything else, on its own schedule. Rule: CL-6.
"""

from asoreconcile.base.retry import Backoff
from asoreconcile.kube.errors import ApiError, KubeCredentialError, TransportError

START_UP = Backoff(
    attempts=6, first_seconds=0.5, factor=2.0, max_seconds=4.0, jitter=0.2
)
"""The back-off for start-up requests, when the server may be starting too: pauses of
0.5, 1, 2, 4 and 4 seconds, with jitter at most 13.8 s in total.
"""

# As client-go.
MAX_RETRIES = 10
# A worker blocks here. For longer pauses the error carries the server's Retry-After,
# and the object is requeued.
PATIENCE_SECONDS = 15.0
_LOST_AGAIN_SECONDS = 1.0


def is_passing(error: BaseException) -> bool:
    """Return whether a failure may be transient: no response, throttling, or a 5xx.

    Other error responses, and a missing credential, need a person.
    """
    if isinstance(error, ApiError):
        return error.status == 429 or error.status >= 500
    return isinstance(error, TransportError) and not isinstance(
        error, KubeCredentialError
    )


def pause_seconds(
    method: str,
    failure: ApiError | TransportError,
    *,
    retries: int,
    waited_seconds: float,
) -> float | None:
    """Return seconds until the next try, or None to give up.

    retries: the number made so far; waited_seconds: their total pause.
    """
    if retries >= MAX_RETRIES:
        return None
    if isinstance(failure, TransportError):
        if not failure.lost or method != "GET":
            return None
        # The first loss is usually an idle connection that the server closed.
        asked = _LOST_AGAIN_SECONDS if retries else 0.0
    elif failure.status == 429 or failure.status >= 500:
        # A write may have happened: its caller reads the object and decides.
        if failure.retry_after_seconds is None:
            return None
        asked = max(0.0, failure.retry_after_seconds)
    else:
        return None
    return asked if waited_seconds + asked <= PATIENCE_SECONDS else None
