"""Whether a request that failed is sent again at once, and after what pause. Pure.

Only what the server asks for, and what cannot have happened: a refusal that carries
Retry-After, and a read whose connection was lost. Anything else is the caller's to
retry, on its own schedule. Rule: CL-6.
"""

from asoreconcile.kube.errors import ApiError, KubeCredentialError, TransportError
from asoreconcile.retry import Backoff

START_UP = Backoff(
    attempts=6, first_seconds=0.5, factor=2.0, max_seconds=4.0, jitter=0.2
)
"""For what a process asks before it runs, beside a server that may be starting too:
pauses of 0.5, 1, 2, 4 and 4 seconds, with jitter 13.8 s together at most.
"""

# As client-go.
MAX_RETRIES = 10
# A worker waits here. Beyond this its object goes back into the queue instead, with
# what the server asked for in the error.
PATIENCE_SECONDS = 15.0
_LOST_AGAIN_SECONDS = 1.0


def is_passing(error: BaseException) -> bool:
    """Whether a failure may be over in a moment: no answer, a throttling, a 5xx.

    What the server refuses, and a missing credential, wait for a person.
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
        # A write may have happened all the same: its caller reads, and decides.
        if failure.retry_after_seconds is None:
            return None
        asked = max(0.0, failure.retry_after_seconds)
    else:
        return None
    return asked if waited_seconds + asked <= PATIENCE_SECONDS else None
