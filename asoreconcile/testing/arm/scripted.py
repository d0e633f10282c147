"""Faults as lines of text, for command lines and the control path.

    PUT Microsoft.Storage/storageAccounts 429:TooManyRequests:17 x3
    GET Microsoft.Network/virtualNetworks:hub reset
    PUT Microsoft.Sql/servers fail:InternalServerError

VERB TARGET WHAT [xCOUNT]; see `HELP` for what there is.
"""

import re
from collections.abc import Callable

import attrs

from asoreconcile.testing.arm.faults import ArmFaults
from asoreconcile.testing.arm.targets import path_pattern, resource_pattern

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


@attrs.frozen
class Script:
    """One fault. target: as `targets.resource_pattern` takes it."""

    method: str
    target: str
    what: str
    argument: str
    times: int


def parse_script(line: str) -> Script:
    """Read one line. Raises ValueError that says what is wrong."""
    words = line.split()
    times = 1
    if words and (match := re.fullmatch(r"[xX](\d+)", words[-1])):
        times = int(match[1])
        words.pop()
    if len(words) != 3:
        message = f"{line!r} is not VERB TARGET WHAT [xCOUNT]"
        raise ValueError(message)
    method, target, what = words
    if method.upper() not in _VERBS:
        message = f"{method!r} is none of {', '.join(_VERBS)}"
        raise ValueError(message)
    resource_pattern(target)
    name, _, argument = what.partition(":")
    script = Script(method.upper(), target, name.lower(), argument, times)
    if not name.isdigit() and script.what not in _PLANS:
        message = f"{what!r} is none of STATUS, {', '.join(_PLANS)}"
        raise ValueError(message)
    if name.isdigit() and not 300 <= int(name) <= 599:
        message = f"{what!r} is no status of an error"
        raise ValueError(message)
    if script.what == "garbled" and argument and not argument.isdigit():
        message = f"{argument!r} is no status"
        raise ValueError(message)
    return script


def plan(faults: ArmFaults, line: str) -> None:
    """Let a server do what a line says. Raises ValueError."""
    script = parse_script(line)
    if not script.what.isdigit():
        _PLANS[script.what](faults, script)
        return
    code, _, retry_after = script.argument.partition(":")
    faults.answer(
        script.method,
        path_pattern(script.target, script.method),
        int(script.what),
        code=code or "InternalServerError",
        message=_MESSAGE,
        headers={"Retry-After": retry_after} if retry_after else None,
        times=script.times,
    )


def _reset(faults: ArmFaults, script: Script) -> None:
    faults.drop(script.method, _path(script), times=script.times)


def _lost(faults: ArmFaults, script: Script) -> None:
    faults.drop(script.method, _path(script), phase="after", times=script.times)


def _timeout(faults: ArmFaults, script: Script) -> None:
    faults.time_out(script.method, _path(script), times=script.times)


def _late(faults: ArmFaults, script: Script) -> None:
    faults.time_out(script.method, _path(script), applied=True, times=script.times)


def _stall(faults: ArmFaults, script: Script) -> None:
    faults.hold(method=script.method, path=_path(script), times=script.times)


def _fail(faults: ArmFaults, script: Script) -> None:
    code = script.argument or "InternalServerError"
    pattern = resource_pattern(script.target)
    faults.fail_operation(pattern, code, _MESSAGE, times=script.times)


def _cancel(faults: ArmFaults, script: Script) -> None:
    faults.cancel_operation(resource_pattern(script.target), times=script.times)


def _stuck(faults: ArmFaults, script: Script) -> None:
    faults.hang_operation(resource_pattern(script.target), times=script.times)


def _garbled(faults: ArmFaults, script: Script) -> None:
    faults.break_polls(
        resource_pattern(script.target),
        status=int(script.argument or 500),
        times=script.times,
    )


def _path(script: Script) -> str:
    return path_pattern(script.target, script.method)


_PLANS: dict[str, Callable[[ArmFaults, Script], None]] = {
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
