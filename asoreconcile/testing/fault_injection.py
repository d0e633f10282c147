"""Injected faults: which requests fail, and how.

    InjectedFault(verb="list", resource="configmaps", status=429, times=3)

The same words in Python and as JSON on a server's control path, for both test servers.
Which requests are hit depends only on their number and a seed, never on time. Pure.
"""

import random
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.http import HttpRequest

Drop = Literal["", "before", "after"]
_MOST_SECONDS = 600.0


@attrs.frozen
class Subject:
    """The verb and resource of a request, as in rules: `patch`,
    `widgets.example.com`.
    """

    verb: str
    resource: str


def _not_negative(_: object, attribute: "attrs.Attribute[Any]", value: float) -> None:
    if not 0 <= value < float("inf"):
        message = f"{attribute.name} must not be negative: {value}"
        raise ValueError(message)


def _duration(_: object, attribute: "attrs.Attribute[Any]", value: float) -> None:
    if not 0 <= value <= _MOST_SECONDS:
        message = f"{attribute.name} must be 0 to {_MOST_SECONDS:g}: {value}"
        raise ValueError(message)


def _pattern(_: object, attribute: "attrs.Attribute[Any]", value: str) -> None:
    try:
        re.compile(value)
    except re.error as error:
        message = f"{attribute.name} is no regular expression: {error}"
        raise ValueError(message) from error


@attrs.frozen(kw_only=True)
class InjectedFault:
    """One fault: its effect, how often, and for which requests. Raises ValueError if it
    is invalid.

    Which requests: verb ("" any), resource ("" any; with `/status` for a subresource),
    path (a case-insensitive regular expression). How often: `after` lets this many pass
    first, `times` (None: always) limits the hits, `share` 1.0 hits every request, less
    a seeded random choice.

    The effects, in this order: wait `delay_seconds`; cut the connection (`drop` before
    or after the request is applied); answer `status` with `reason`, `message` and
    `retry_after` seconds; send `drip_bytes` of the answer each `drip_seconds`; reset
    the connection once `reset_after_bytes` of the answer's body are sent.
    """

    verb: str = ""
    resource: str = ""
    path: str = attrs.field(default="", validator=_pattern)
    after: int = attrs.field(default=0, validator=_not_negative)
    times: int | None = attrs.field(
        default=None, validator=attrs.validators.optional(_not_negative)
    )
    share: float = attrs.field(default=1.0, validator=_not_negative)
    seed: int = 0
    delay_seconds: float = attrs.field(default=0.0, validator=_duration)
    drop: Drop = attrs.field(
        default="", validator=attrs.validators.in_(("", "before", "after"))
    )
    status: int = attrs.field(
        default=0, validator=attrs.validators.in_((0, *range(200, 600)))
    )
    reason: str = ""
    message: str = ""
    retry_after: int | None = attrs.field(
        default=None, validator=attrs.validators.optional(_not_negative)
    )
    drip_bytes: int = attrs.field(default=0, validator=_not_negative)
    drip_seconds: float = attrs.field(default=0.1, validator=_duration)
    reset_after_bytes: int | None = attrs.field(
        default=None, validator=attrs.validators.optional(_not_negative)
    )


_NUMBERS: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "str": (str,),
}


def parse(document: Any) -> InjectedFault:
    """Parse a fault from JSON with the same names. Raises ValueError if it is
    invalid.
    """
    if not isinstance(document, dict):
        message = "a fault is a JSON object"
        raise ValueError(message)  # noqa: TRY004 - one error for all that is no fault
    known = {field.name: field for field in attrs.fields(InjectedFault)}
    for name, value in document.items():
        if name not in known:
            message = f"a fault has no {name!r}; it has: {', '.join(known)}"
            raise ValueError(message)
        default = known[name].default
        wanted = _wanted(default)
        if value is None and default is None:
            continue
        if isinstance(value, bool) or not isinstance(value, wanted):
            shown = " or ".join(type_.__name__ for type_ in wanted)
            message = f"{name} must be {shown}: {value!r}"
            raise ValueError(message)  # noqa: TRY004
    return InjectedFault(**document)


def _wanted(default: object) -> tuple[type, ...]:
    return (int,) if default is None else _NUMBERS[type(default).__name__]


def shown(injected: InjectedFault) -> JsonObject:
    """Return an injected fault as JSON, without default values."""
    return attrs.asdict(injected, filter=lambda field, value: value != field.default)


class FaultPlan:
    """A fault and its count. Not thread-safe: the caller locks."""

    def __init__(self, injected: InjectedFault) -> None:
        self.injected = injected
        self.seen = 0
        self.hit = 0
        self._path = re.compile(injected.path, re.IGNORECASE)
        # This is not for secrets: the same seed must choose the same requests.
        self._choice = random.Random(injected.seed)

    def takes(self, request: HttpRequest, subject: Subject) -> bool:
        """Count this request; returns whether the fault hits it."""
        injected = self.injected
        if injected.verb not in ("", subject.verb):
            return False
        if injected.resource not in ("", subject.resource):
            return False
        if not self._path.search(request.path):
            return False
        self.seen += 1
        if self.seen <= injected.after:
            return False
        if injected.times is not None and self.hit >= injected.times:
            return False
        if injected.share < 1 and self._choice.random() >= injected.share:
            return False
        self.hit += 1
        return True


def by_method(request: HttpRequest) -> Subject:
    """Return the subject of a request known only by its HTTP method, such as `put`."""
    return Subject(request.method.lower(), "")


Describe = Callable[[HttpRequest], Subject]
