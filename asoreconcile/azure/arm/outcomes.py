"""The outcomes of one request to ARM.

    OperationDone  finished successfully
    Failed         accepted, then failed
    Pending        running: store the token, poll again after the delay
    ReadResource   undecided: GET the resource (`ArmClient.judge`), which decides
    Restart        the operation left no trace: send the first request again

Outcomes are values, not exceptions: all five are expected. A request that ARM refused
is an `ArmError` instead.
"""

from typing import Any, Literal

import attrs

from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm.tokens import Token
from asoreconcile.base.objects import JsonObject

# Why the resource must be read to find the outcome.
Undecided = Literal[
    "monitor gone",  # L16: 404 or 410 on a monitor
    "monitor refused",  # L16: another 4xx on a monitor; `error` has it
    "monitor unreadable",  # L14: too many answers without a status
    "monitor on a foreign host",  # L21
    "no monitor",  # L9
    "record without our mark",  # an author, or another operator, wrote the token
]


@attrs.frozen
class Progress:
    """The progress of polling, kept in memory only; losing it does no harm.

    polls: number of polls made.
    bad_reads: number of consecutive responses without a status.
    client_request_id: id of the first request, repeated on its polls (H1).
    """

    polls: int = 0
    bad_reads: int = 0
    client_request_id: str = ""


NO_PROGRESS = Progress()


@attrs.frozen
class PollState:
    """The state of an operation between two polls, kept in memory only.

    due: Azure must not be polled before this time (`Clock.monotonic` seconds), not even
    if an event triggers an earlier reconcile (D4).
    newest: the monitor with Azure's latest signature, if the recorded token has an
    older one (L19).
    """

    progress: Progress = NO_PROGRESS
    due: float = 0.0
    newest: Token | None = None


@attrs.frozen
class OperationDone:
    """The request finished successfully.

    body: the operation's own response; if None, read the resource for its status. An
    action may return a list.
    settled: true if an operation reported the end; the resource may still show another
    state (L23), which does not matter.
    created: true if the first request was answered with 201.
    """

    body: JsonObject | list[Any] | None = attrs.field(default=None, repr=False)
    settled: bool = False
    created: bool = False


@attrs.frozen
class Failed:
    """An accepted request failed; `error` is classified like that of a refused
    request.
    """

    error: ArmError


@attrs.frozen
class Pending:
    """The operation is running. Store the token; poll after `delay_seconds`.

    progress: pass it to the next poll if it is still in memory.
    read_error: the reason if the status could not be read this time; it says nothing
    about the operation (L15). Count and log it.
    created: true if the first request was answered with 201; not set by polls.
    """

    token: Token
    delay_seconds: float
    progress: Progress = NO_PROGRESS
    read_error: ArmError | ArmTransportError | None = None
    created: bool = False


@attrs.frozen
class ReadResource:
    """The outcome is undecided: drop the token and read the resource after
    `delay_seconds`.

    deleting: true if the first request was a DELETE: a 404 then means done.
    error: the error of a monitor that refused, to be reported.
    """

    reason: Undecided
    deleting: bool
    delay_seconds: float = 0.0
    error: ArmError | None = None


@attrs.frozen
class Restart:
    """The operation is lost and had no effect: send the request again (L16).

    error: the error of a monitor that refused, to be reported.
    """

    reason: str
    error: ArmError | None = None


ArmOutcome = OperationDone | Failed | Pending | ReadResource | Restart
