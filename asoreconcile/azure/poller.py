"""The running operation, kept on the object so that any process can go on with it."""

from asoreconcile.arm.polling import Outcome
from asoreconcile.arm.tokens import Token, dumps, loads
from asoreconcile.azure.wire import POLLER_ID, POLLER_TOKEN
from asoreconcile.azure.work import Work


def store_poller(
    work: Work,
    poller_id: str,
    token: Token,
    *,
    notes: dict[str, str | None] | None = None,
) -> None:
    """Record an operation, durably before this returns; notes go in the same write."""
    work.session.annotate(
        {POLLER_TOKEN: dumps(token), POLLER_ID: poller_id, **(notes or {})}
    )


def clear_poller(work: Work, *, notes: dict[str, str | None] | None = None) -> None:
    """Forget the recorded operation (R2.2); notes go in the same write."""
    present = {
        name: None
        for name in (POLLER_TOKEN, POLLER_ID)
        if work.session.annotation(name)
    }
    work.session.annotate({**present, **(notes or {})})


def load_poller(work: Work) -> Token:
    """The recorded operation. Raises TokenError when it cannot be read (R1.14)."""
    return loads(work.session.annotation(POLLER_TOKEN))


def poll(work: Work, token: Token) -> Outcome:
    """One request; raises ArmTransportError, ArmError for answers that say nothing."""
    return work.connection.client.poll(token)
