"""What one request to ARM has come to.

    Done          finished well
    Failed        accepted, then it ended badly
    Pending       running: put the token away, come back after the delay
    ReadResource  undecided: GET the resource (`ArmClient.judge`) and go by what it says
    Restart       the operation left no trace: send the first request again

Values, not exceptions: all five are expected. A request that ARM refused is an
`ArmError` instead.
"""

from typing import Any, Literal

import attrs

from asoreconcile.arm.errors import ArmError, ArmTransportError
from asoreconcile.arm.tokens import Token
from asoreconcile.objects import JsonObject

# Why the resource has to be read before anything can be said.
Undecided = Literal[
    "monitor gone",  # L16: 404 or 410 on a monitor
    "monitor refused",  # L16: another 4xx on a monitor; `error` has it
    "monitor unreadable",  # L14: too many answers that are no status
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
    """What is remembered of an operation from one poll to the next, in memory only.

    due: before this moment (`Clock.monotonic` seconds) Azure is not to be asked, not
    even when an event brings a reconcile forward (D4).
    newest: the monitor as Azure signed it last, where the recorded token has an older
    signature (L19).
    """

    progress: Progress = NO_PROGRESS
    due: float = 0.0
    newest: Token | None = None


@attrs.frozen
class OperationDone:
    """Finished well.

    body: the operation's own answer, or None: then read the resource for its status.
    An action may answer a list.
    settled: an operation said so; the resource may still show another word (L23), and
    that does not matter.
    created: the first request was answered 201.
    """

    body: JsonObject | list[Any] | None = attrs.field(default=None, repr=False)
    settled: bool = False
    created: bool = False


@attrs.frozen
class Failed:
    """An accepted request ended badly; `error` is classified like a refused one."""

    error: ArmError


@attrs.frozen
class Pending:
    """Running. Store the token, poll not before `delay_seconds` have passed.

    progress: give it to the next poll if it is still in memory.
    trouble: the status could not be read this time; that says nothing about the
    operation (L15). Count it and show it in the log.
    created: the first request was answered 201; polls do not know.
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
    error: what a monitor said when it refused, to be reported.
    """

    reason: Undecided
    deleting: bool
    delay_seconds: float = 0.0
    error: ArmError | None = None


@attrs.frozen
class Restart:
    """The operation is lost and had no effect: send the request again (L16).

    error: what a monitor said when it refused, to be reported.
    """

    reason: str
    error: ArmError | None = None


ArmOutcome = OperationDone | Failed | Pending | ReadResource | Restart
