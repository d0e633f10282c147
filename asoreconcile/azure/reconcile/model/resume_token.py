"""The resume token of the running operation, in the object's annotations: written as it
starts, read by whichever process polls next, cleared at its end. Pure.
"""

from collections.abc import Mapping

from asoreconcile.azure.arm.outcomes import PollState
from asoreconcile.azure.arm.tokens import Token, TokenError, concerns, dumps, loads
from asoreconcile.azure.reconcile.model.annotations import (
    INPUTS,
    POLLER_ID,
    POLLER_TOKEN,
)
from asoreconcile.azure.reconcile.model.decisions import (
    Effect,
    SetMetadata,
    UpdateMemory,
)


def token_annotations(token: Token, poller: str) -> dict[str, str | None]:
    """The annotations that record a running operation.

    poller: `PUT_POLLER` or `DELETE_POLLER`, which tells ASO the kind of the operation.
    """
    return {POLLER_TOKEN: dumps(token), POLLER_ID: poller}


def recorded_token(stored: Mapping[str, str], *, arm_id: str, deleting: bool) -> Token:
    """The recorded operation. stored: the object's annotations.

    Raises TokenError when it cannot be read (R1.14), or is of another resource than
    this object's: an annotation can be copied from elsewhere.
    """
    token = loads(stored.get(POLLER_TOKEN) or "")
    if not concerns(token, arm_id, deleting=deleting):
        raise TokenError("it belongs to another resource or another kind of request")
    return token


def clear_token(stored: Mapping[str, str]) -> tuple[Effect, ...]:
    """The effects that drop the recorded operation from memory and annotations (R2.2).

    stored: the object's annotations; only those that are set are removed, as a patch
    without a change would still cost a request.
    """
    cleared: dict[str, str | None] = {
        name: None for name in (POLLER_TOKEN, POLLER_ID, INPUTS) if stored.get(name)
    }
    return UpdateMemory(poll=PollState()), SetMetadata(cleared)
