"""The outcomes of one request to ARM.

    Done          finished well
    Failed        accepted, then it ended badly
    Pending       running: store the token, poll after the delay
    ReadResource  undecided: GET the resource (`ArmClient.judge`), go by its state
    Restart       the operation left no trace: send the first request again

Values, not exceptions: all five are expected. A request that ARM refused is an
`ArmError` instead.
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
]


@attrs.frozen
class Progress:
    """What to remember between polls, in memory only: losing it costs nothing.

    polls: polls made. bad_reads: answers in a row that were no status.
    client_request_id: of the first request, repeated on its polls (H1).
    """

    polls: int = 0
    bad_reads: int = 0
    client_request_id: str = ""


NO_PROGRESS = Progress()


@attrs.frozen
class PollState:
    """The state of an operation between two polls, in memory only.

    due: the earliest time of the next poll (`Clock.monotonic` seconds), also for a
    reconcile that a watch event triggers (D4).
    newest: the monitor URL with Azure's latest signature, if the stored token has an
    older one (L19).
    """

    progress: Progress = NO_PROGRESS
    due: float = 0.0
    newest: Token | None = None


@attrs.frozen
class OperationDone:
    """The request or its operation succeeded.

    body: the operation's result, or None: then read the resource for its status. The
    result of an action may be a list.
    settled: the operation itself reported success; the resource's provisioning state
    may still differ (L23), which does not matter.
    created: the first answer was 201.
    """

    body: JsonObject | list[Any] | None = attrs.field(default=None, repr=False)
    settled: bool = False
    created: bool = False


@attrs.frozen
class Failed:
    """An accepted request failed; `error` is classified like a refused one's."""

    error: ArmError


@attrs.frozen
class Pending:
    """Running. Store the token; poll after `delay_seconds` at the earliest.

    progress: for the next poll, if it is still in memory.
    trouble: why the status could not be read this time; that says nothing about the
    operation (L15). Count it and log it.
    created: the first answer was 201; False from a poll, which cannot tell.
    """

    token: Token
    delay_seconds: float
    progress: Progress = NO_PROGRESS
    read_error: ArmError | ArmTransportError | None = None
    created: bool = False


@attrs.frozen
class ReadResource:
    """Undecided: drop the token, and after `delay_seconds` read the resource.

    deleting: the first request was a DELETE: 404 then means done.
    error: the monitor's refusal, to be reported.
    """

    reason: Undecided
    deleting: bool
    delay_seconds: float = 0.0
    error: ArmError | None = None


@attrs.frozen
class Restart:
    """The operation is lost and had no effect: send the request again (L16).

    error: the monitor's refusal, to be reported.
    """

    reason: str
    error: ArmError | None = None


ArmOutcome = OperationDone | Failed | Pending | ReadResource | Restart
