"""The running operation as the object's annotations keep it, for any process. Pure."""

from collections.abc import Mapping

from asoreconcile.arm.outcomes import PollState
from asoreconcile.arm.tokens import Token, TokenError, concerns, loads
from asoreconcile.azure.annotations import INPUTS, POLLER_ID, POLLER_TOKEN
from asoreconcile.azure.decisions import Effect, SetMetadata, UpdateMemory


def stored_token(stored: Mapping[str, str], *, arm_id: str, deleting: bool) -> Token:
    """The recorded operation. stored: the object's annotations.

    Raises TokenError when it cannot be read (R1.14), or speaks of another resource than
    this object's: an annotation can be copied from elsewhere.
    """
    token = loads(stored.get(POLLER_TOKEN) or "")
    if not concerns(token, arm_id, deleting=deleting):
        raise TokenError("it belongs to another resource or another kind of request")
    return token


def forgotten(stored: Mapping[str, str]) -> tuple[Effect, ...]:
    """What forgets the recorded operation, wherever it is kept (R2.2).

    stored: the object's annotations.
    """
    return UpdateMemory(poll=PollState()), SetMetadata(cleared(stored))


def cleared(stored: Mapping[str, str]) -> dict[str, str | None]:
    """The annotations that say nothing of an operation any more."""
    return {
        name: None for name in (POLLER_TOKEN, POLLER_ID, INPUTS) if stored.get(name)
    }
