"""Times, durations and quantities, which Kubernetes writes as strings.

A parsed value keeps its text if our format differs (`+00:00` for `Z`, nanoseconds,
`90m` for `1h30m0s`), so that encoding it again changes nothing. Pure.
"""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal, DecimalException
from functools import total_ordering
from typing import Any

from asoreconcile.base.json_problems import time_text as utc_text

_UNITS = {
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "μs": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "m": Decimal(60),
    "h": Decimal(3600),
}
# Possessive: each takes time in proportion to the length of the text.
_PART = re.compile(r"(\d++\.?\d*+|\.\d++)(ns|us|µs|μs|ms|s|m|h)")
_DURATION = re.compile(rf"([+-]?)(0|(?:{_PART.pattern})++)")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_QUANTITY = re.compile(
    r"([+-]?(?:\d++\.?\d*+|\.\d++))(?:(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])|([eE][+-]?\d+))?"
)
# Characters of a time, duration or quantity. Numbers of very many digits take
# the square of their length.
_LONGEST = 260
_USUAL = len("2026-01-31T12:00:00Z")
_USUAL_SIGNS = "--T::Z"
_BINARY = {f"{letter}i": 1 << (10 * n) for n, letter in enumerate("KMGTPE", 1)}
_SUFFIXES: dict[str, Decimal] = {
    **{suffix: Decimal(factor) for suffix, factor in _BINARY.items()},
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{suffix: Decimal(1000) ** n for n, suffix in enumerate("kMGTPE", 1)},
}


class StatedTime(datetime):
    """A parsed time with its original text, which copies and pickles keep."""

    text: str

    def __reduce_ex__(self, _: Any) -> Any:
        """Return the arguments that make the time again from its text."""
        return parse_time, (time_text(self),)


class StatedDuration(timedelta):
    """A parsed duration with its original text, which copies and pickles keep."""

    text: str

    def __reduce__(self) -> Any:
        """Return the arguments that make the duration again from its text."""
        return parse_duration_text, (duration_text(self),)


def parse_time(text: str) -> datetime:
    """Parse a Kubernetes time (RFC 3339). Raises ValueError if it is invalid.

    Digits beyond microseconds are kept only in the text.
    """
    # As servers write them, without the pattern: 0.4 us where the rest takes 2.
    if len(text) == _USUAL and text[4::3] == _USUAL_SIGNS:
        return _from_iso(text)
    found = _TIME.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        raise ValueError("is no time such as 2026-01-31T12:00:00Z")
    day, second, fraction, zone = found.groups()
    zone = "+00:00" if zone in "Zz" else zone
    value = _from_iso(f"{day}T{second}{(fraction or '')[:7]}{zone}")
    if time_text(value) == text:
        return value
    kept = StatedTime.combine(value.date(), value.timetz())
    kept.text = text
    return kept


def _from_iso(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"is no time: {error}") from None


def time_text(value: datetime) -> str:
    """Format a time as RFC 3339 in UTC, with fractional seconds only if not zero.

    A time without a zone counts as UTC.
    """
    text = getattr(value, "text", None)
    if isinstance(text, str):
        return text
    known = value.replace(tzinfo=UTC) if value.tzinfo is None else value
    return utc_text(known)


def parse_duration_text(text: str) -> timedelta:
    """Parse a Go duration: `1h30m`, `250ms`. Raises ValueError if it is invalid.

    Fractions of a microsecond are kept only in the text.
    """
    found = _DURATION.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        raise ValueError("is no duration such as 1h30m or 15s")
    seconds = sum(
        (Decimal(number) * _UNITS[unit] for number, unit in _PART.findall(found[2])),
        Decimal(),
    )
    try:
        micros = int(seconds * 1_000_000)
        value = timedelta(microseconds=-micros if found[1] == "-" else micros)
    except OverflowError:
        raise ValueError("is a longer duration than there can be") from None
    if duration_text(value) == text:
        return value
    kept = StatedDuration(value.days, value.seconds, value.microseconds)
    kept.text = text
    return kept


def duration_text(value: timedelta) -> str:
    """Format a duration as Go does: `1h30m0s`, `1.5s`, `250ms`, `0s`."""
    text = getattr(value, "text", None)
    if isinstance(text, str):
        return text
    micros = abs(value // timedelta(microseconds=1))
    sign = "-" if value < timedelta(0) else ""
    if micros == 0:
        return "0s"
    for size, unit in ((1000, "µs"), (1_000_000, "ms")):
        if micros < size:
            return f"{sign}{_plain(Decimal(micros) / (size // 1000))}{unit}"
    minutes, rest = divmod(micros, 60_000_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_plain(Decimal(rest) / 1_000_000)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else f"{sign}{seconds}"


@total_ordering
class Quantity:
    """A Kubernetes quantity: `500m`, `1Gi`, `2`. Immutable.

    Compares by amount, not by text; `str` returns the text.
    """

    __slots__ = ("amount", "stated")

    def __init__(self, stated: str | int | Decimal) -> None:
        """stated: the text, or a number. Raises ValueError if it is not a quantity."""
        self.stated: str | int = stated if isinstance(stated, int) else str(stated)
        """As it was given: servers accept numbers too."""
        self.amount = _amount(str(stated))
        """In the base unit: cores, bytes."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: Any) -> Any:
        """Lets models of pydantic have it as a field: it is taken as it is."""
        return handler.generate_schema(Any)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.amount == other.amount

    def __lt__(self, other: "Quantity") -> bool:
        return self.amount < other.amount

    def __hash__(self) -> int:
        return hash(self.amount)

    def __str__(self) -> str:
        return str(self.stated)

    def __repr__(self) -> str:
        return f"Quantity({self.stated!r})"


def _amount(text: str) -> Decimal:
    found = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        raise ValueError(f"{text!r:.60} is no quantity such as 500m, 2 or 1Gi")
    number, suffix, exponent = found.groups()
    try:
        value = Decimal(number + (exponent or ""))
        return value * _SUFFIXES[suffix] if suffix else value
    except DecimalException:  # an exponent beyond all reason
        raise ValueError(f"{text!r:.60} is no quantity: its exponent") from None


def _plain(value: Decimal) -> str:
    return f"{value.normalize():f}"
