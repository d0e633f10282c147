"""Faults as lines of text, for command lines and the control path.

    PUT Microsoft.Storage/storageAccounts 429:TooManyRequests:17 x3
    GET Microsoft.Network/virtualNetworks:hub reset
    PUT Microsoft.Sql/servers fail:InternalServerError

The form is VERB TARGET WHAT [xCOUNT]. `HELP` lists the words.
"""

from collections.abc import Callable
from uuid import UUID

from asoreconcile.testing.arm.faults import ArmFaults
from asoreconcile.testing.arm.targets import path_pattern, resource_pattern
from asoreconcile.testing.scripts import Line, parse_line

HELP = (
    ("STATUS[:CODE[:RETRY_AFTER]]", "this error instead of an answer"),
    ("reset", "the connection breaks before the request is looked at"),
    ("lost", "the connection breaks after it had its effect"),
    ("timeout", "504, and nothing happened"),
    ("late", "504, though it happened"),
    ("stall", "no answer at all, until the client gives up"),
    ("fail[:CODE]", "the operation that it begins ends as Failed"),
    ("cancel", "the operation ends as Canceled"),
    ("stuck", "the operation never ends"),
    ("garbled[:STATUS]", "reads of the operation's status answer a page of HTML"),
)
_VERBS = ("GET", "HEAD", "PUT", "PATCH", "POST", "DELETE")
_MESSAGE = "Made to fail by the test server."


def parse_script(text: str) -> Line:
    """Read one line. Raises ValueError with the mistake.

    The target is in the form of `targets.resource_pattern`.
    """
    line = parse_line(text, form="VERB TARGET WHAT", verbs=_VERBS, whats=_PLANS)
    resource_pattern(line.target)
    if line.status is not None and not 300 <= line.status <= 599:
        message = f"{line.what} is no status of an error"
        raise ValueError(message)
    if line.what == "garbled" and line.argument and not line.argument.isdecimal():
        message = f"{line.argument!r} is no status"
        raise ValueError(message)
    return line


def plan(faults: ArmFaults, line: str) -> None:
    """Plan the fault that a line describes. Raises ValueError."""
    script = parse_script(line)
    if script.status is None:
        _PLANS[script.what](faults, script)
        return
    code, _, retry_after = script.argument.partition(":")
    faults.answer(
        script.verb,
        _path(script),
        script.status,
        code=code or "InternalServerError",
        message=_message(script, code),
        headers={"Retry-After": retry_after} if retry_after else None,
        times=script.times,
    )


def _message(script: Line, code: str) -> str:
    """Return the error's message; for a missing right it has Azure's wording."""
    if code != "AuthorizationFailed":
        return _MESSAGE
    type_ = script.target.partition(":")[0]
    action = {"GET": "read", "HEAD": "read", "DELETE": "delete"}.get(script.verb)
    return (
        f"The client 'the operator' with object id '{UUID(int=0)}' does not have "
        f"authorization to perform action '{type_}/{action or 'write'}' over scope "
        f"'{script.target}' or the scope is invalid."
    )


def _reset(faults: ArmFaults, script: Line) -> None:
    faults.drop(script.verb, _path(script), times=script.times)


def _lost(faults: ArmFaults, script: Line) -> None:
    faults.drop(script.verb, _path(script), phase="after", times=script.times)


def _timeout(faults: ArmFaults, script: Line) -> None:
    faults.time_out(script.verb, _path(script), times=script.times)


def _late(faults: ArmFaults, script: Line) -> None:
    faults.time_out(script.verb, _path(script), applied=True, times=script.times)


def _stall(faults: ArmFaults, script: Line) -> None:
    faults.hold(method=script.verb, path=_path(script), times=script.times)


def _fail(faults: ArmFaults, script: Line) -> None:
    code = script.argument or "InternalServerError"
    pattern = resource_pattern(script.target)
    faults.fail_operation(pattern, code, _MESSAGE, times=script.times)


def _cancel(faults: ArmFaults, script: Line) -> None:
    faults.cancel_operation(resource_pattern(script.target), times=script.times)


def _stuck(faults: ArmFaults, script: Line) -> None:
    faults.hang_operation(resource_pattern(script.target), times=script.times)


def _garbled(faults: ArmFaults, script: Line) -> None:
    faults.break_polls(
        resource_pattern(script.target),
        status=int(script.argument or 500),
        times=script.times,
    )


def _path(script: Line) -> str:
    return path_pattern(script.target, script.verb)


_PLANS: dict[str, Callable[[ArmFaults, Line], None]] = {
    "reset": _reset,
    "lost": _lost,
    "timeout": _timeout,
    "late": _late,
    "stall": _stall,
    "fail": _fail,
    "cancel": _cancel,
    "stuck": _stuck,
    "garbled": _garbled,
}
