"""Whether a request that failed is sent again at once, and after what pause. Pure.

Only what the server asks for, and what cannot have happened: a refusal that carries
Retry-After, and a read whose connection was lost. Anything else is the caller's to
retry, on its own schedule. Rule: CL-6.
"""

from asoreconcile.kube.errors import ApiError, TransportError

MAX_RETRIES = 10
# A worker waits here. Beyond this its object goes back into the queue instead, with
# what the server asked for in the error.
PATIENCE_SECONDS = 15.0
_LOST_AGAIN_SECONDS = 1.0


def pause_seconds(
    method: str,
    failure: ApiError | TransportError,
    *,
    retries: int,
    waited_seconds: float,
) -> float | None:
    """Seconds until the next try, or None to give up.

    retries: those made already; waited_seconds: what they waited together.
    """
    if retries >= MAX_RETRIES:
        return None
    if isinstance(failure, TransportError):
        if not failure.lost or method != "GET":
            return None
        # The first loss is usually an idle connection that the server had closed.
        asked = _LOST_AGAIN_SECONDS if retries else 0.0
    elif failure.status == 429 or failure.status >= 500:
        if failure.retry_after_seconds is None:
            return None
        asked = max(0.0, failure.retry_after_seconds)
    else:
        return None
    return asked if waited_seconds + asked <= PATIENCE_SECONDS else None
