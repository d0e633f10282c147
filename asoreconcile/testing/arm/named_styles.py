"""The recorded styles by number, W1-W26, which a test can give to any type.

    style_type(azure.styles, azure.faults, "Microsoft.Network/virtualNetworks", "W5")

Most styles change how every write and poll is answered. A style of errors (`once`)
affects each of the next two requests that match.
"""

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from asoreconcile.testing.arm.faults import ArmFaults
from asoreconcile.testing.arm.style import MonitorStyle
from asoreconcile.testing.arm.styles import Styles
from asoreconcile.testing.arm.targets import resource_pattern

_TIMES = 2
_Plan = Callable[[ArmFaults, str], None]


@attrs.frozen
class NamedStyle:
    """A style with a number.

    summary: one line for people.
    fields: fields of `Style`.
    once: plans the errors, given a pattern of the type's resources.
    """

    summary: str
    fields: Mapping[str, Any] = attrs.field(factory=dict)
    once: _Plan | None = None


_ASYNC = {
    "create": "201 A 10 Creating",
    "update": "200 A 10 Updating",
    "delete": "202 A+L 10",
}
_LOCATION = {
    "create": "202 L 17 empty",
    "update": "202 L 17 empty",
    "delete": "202 L 15",
    "done": "Succeeded",
}
_NOT_YET = "ManagedEnvironmentNotProvisioned"

NAMED: dict[str, NamedStyle] = {
    "W1": NamedStyle("201 with Azure-AsyncOperation and Retry-After", _ASYNC),
    "W2": NamedStyle(
        "202 with Azure-AsyncOperation and Location; the body is the operation",
        {"create": "202 A+L 15 op", "update": "202 A+L 15 op", "delete": "202 A+L 15"},
    ),
    "W3": NamedStyle("202 with Location alone, empty", _LOCATION),
    "W4": NamedStyle(
        "no monitor: the resource's own state tells",
        {
            "create": "201 Creating",
            "update": "200 Updating",
            "delete": "200",
            "done": "Succeeded",
        },
    ),
    "W5": NamedStyle(
        "201 with a relative Location that is the resource, and no state",
        {"create": "201 self", "update": "200", "delete": "200", "done": ""},
    ),
    "W6": NamedStyle(
        "Azure-AsyncOperation though the state says Succeeded",
        {**_ASYNC, "create": "201 A 10 Succeeded", "update": "202 A 10 Succeeded"},
    ),
    "W7": NamedStyle(
        "the monitor is the resource's path with a query, ended by the resource",
        {
            **_ASYNC,
            "create": "202 A+L 20 empty",
            "monitors": MonitorStyle(place="query"),
        },
    ),
    "W8": NamedStyle(
        "running status documents come with 202",
        {**_ASYNC, "monitors": MonitorStyle(poll_status=202)},
    ),
    "W9": NamedStyle(
        "both monitors on one path, told apart by their query",
        {**_ASYNC, "create": "202 A+L 2 op", "monitors": MonitorStyle(shared=True)},
    ),
    "W10": NamedStyle(
        "the monitor is signed anew on every other poll",
        {**_LOCATION, "monitors": MonitorStyle(renewed="some")},
    ),
    "W11": NamedStyle(
        "Location on another host beside Azure-AsyncOperation",
        {**_ASYNC, "create": "201 A+foreign Creating"},
    ),
    "W12": NamedStyle(
        "Retry-After grows from poll to poll",
        {**_ASYNC, "create": "202 A+L 20,40,80,100,160 op"},
    ),
    "W13": NamedStyle(
        "status reads answer 500 with HTML, then go on",
        _ASYNC,
        lambda faults, it: faults.break_polls(it, times=_TIMES),
    ),
    "W14": NamedStyle(
        "the operation fails; the same PUT works later",
        _ASYNC,
        lambda faults, it: faults.fail_operation(
            it, "InternalServerError", "It failed, for once.", times=_TIMES
        ),
    ),
    "W15": NamedStyle(
        "the operation is canceled",
        _ASYNC,
        lambda faults, it: faults.cancel_operation(it, times=_TIMES),
    ),
    "W16": NamedStyle(
        "the resource stays busy for half a minute after its operation",
        {**_ASYNC, "lingers_seconds": 30.0},
    ),
    "W17": NamedStyle(
        "429 RetryableError, then 409 AnotherOperationInProgress while busy",
        _ASYNC,
        lambda faults, it: faults.busy(it, times=_TIMES),
    ),
    "W18": NamedStyle(
        "400 on PUT that means not yet",
        {},
        lambda faults, it: faults.refuse("PUT", it, 400, _NOT_YET, times=_TIMES),
    ),
    "W19": NamedStyle("GET is 405, only HEAD tells", {"readable": False}),
    "W20": NamedStyle(
        "DELETE is refused for its dependants, then answers 202 with null",
        {"delete": "202 A+L 10 null"},
        lambda faults, it: faults.refuse(
            "DELETE", it, 409, "CannotDeleteResource", times=_TIMES
        ),
    ),
    "W21": NamedStyle(
        "errors in capitals and without the usual envelope", {"envelope": "web"}
    ),
    "W22": NamedStyle(
        "ids come back in another casing", {"casing": ("resourcegroups",)}
    ),
    "W23": NamedStyle("deleted vaults hold their names: Key Vault's, always on"),
    "W24": NamedStyle("groups go with all that is in them: always on"),
    "W25": NamedStyle("216 polls for one operation", {**_ASYNC, "polls": 216}),
    "W26": NamedStyle(
        "504 on GET",
        {},
        lambda faults, it: faults.time_out("GET", it, times=_TIMES),
    ),
}


def style_type(styles: Styles, faults: ArmFaults, type_: str, name: str) -> None:
    """Make a type answer in one of the `NAMED` styles. Raises ValueError."""
    named = NAMED.get(name.upper())
    if named is None:
        message = f"there is no style {name!r}: they are {', '.join(NAMED)}"
        raise ValueError(message)
    pattern = resource_pattern(type_)
    styles.change(type_, **named.fields)
    if named.once is not None:
        named.once(faults, pattern)
