"""Faults as lines of text, in the syntax that the simulator of Azure shares.

    list configmaps 429:TooManyRequests:2 x3
    patch virtualnetworks.network.azure.com/status conflict
    watch * cut:2000

The form is VERB RESOURCE WHAT [xCOUNT]; `*` is any verb or resource. `HELP` lists the
words.
"""

from collections.abc import Callable

from asoreconcile.testing.fault_injection import InjectedFault
from asoreconcile.testing.scripts import parse_line

HELP = (
    ("STATUS[:REASON[:RETRY_AFTER]]", "this refusal instead of an answer"),
    ("conflict", "409, as if somebody else wrote first"),
    ("reset", "the connection breaks before the request is looked at"),
    ("lost", "the connection breaks after it had its effect"),
    ("timeout", "504, and nothing happened"),
    ("stall", "no answer at all, until the client gives up"),
    ("slow[:SECONDS]", "the answer comes so much later (1)"),
    ("drip[:BYTES]", "the answer comes in pieces of so many bytes (64), ten a second"),
    ("cut[:BYTES]", "the connection is reset after so much of the answer's body (0)"),
)
_VERBS = {
    "*": "",
    "get": "get",
    "list": "list",
    "watch": "watch",
    "create": "create",
    "update": "update",
    "patch": "patch",
    "delete": "delete",
    "deletecollection": "deletecollection",
}
_STALL_SECONDS = 600.0
_WHATS: dict[str, Callable[[str], dict[str, object]]] = {
    "conflict": lambda _: {"status": 409},
    "reset": lambda _: {"drop": "before"},
    "lost": lambda _: {"drop": "after"},
    "timeout": lambda _: {"status": 504},
    "stall": lambda _: {"delay_seconds": _STALL_SECONDS, "drop": "before"},
    "slow": lambda seconds: {"delay_seconds": float(seconds or 1)},
    "drip": lambda size: {"drip_bytes": int(size or 64)},
    "cut": lambda size: {"reset_after_bytes": int(size or 0)},
}


def parse_script(text: str) -> InjectedFault:
    """Read one line. Without a count, the fault hits once. Raises ValueError."""
    line = parse_line(text, form="VERB RESOURCE WHAT", verbs=_VERBS, whats=_WHATS)
    stated: dict[str, object] = {"times": line.times, "verb": _VERBS[line.verb]}
    stated["resource"] = "" if line.target == "*" else line.target
    if line.status is None:
        stated |= _WHATS[line.what](line.argument)
    else:
        reason, _, after = line.argument.partition(":")
        stated |= {"status": line.status, "reason": reason}
        stated["retry_after"] = int(after) if after else None
    return InjectedFault(**stated)  # type: ignore[arg-type] # checked by its validators
