"""`quantity("1.5Gi")` and its methods, which Kubernetes adds to CEL. Pure.

A quantity holds its exact number. Two quantities are equal if their numbers are. The
methods raise ValueError if a real server's engine reports an error.
"""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from asoreconcile.base.objects import JsonObject

_FORM = re.compile(
    r"(?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+))"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?\d{1,4}))?"
)
_POWERS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = "KMGTPE"
_LARGEST = 2**63 - 1
_NANO = Fraction(1, 10**9)


def parsed(text: str) -> Fraction:
    """Return the number of a quantity. Raises ValueError."""
    found = _FORM.fullmatch(text)
    if found is None or not text.isascii():
        raise ValueError(
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    number, suffix = Fraction(_padded(found["number"])), found["suffix"] or ""
    if suffix.endswith("i"):
        number *= 1024 ** (_BINARY.index(suffix[0]) + 1)
    else:
        number *= Fraction(10) ** _POWERS.get(suffix, int(found["exponent"] or 0))
    nanos = abs(number) / _NANO
    rounded = -(-nanos.numerator // nanos.denominator) * _NANO  # rounded away from 0
    return rounded if number >= 0 else -rounded


def _padded(number: str) -> str:
    return f"{number}0" if number.endswith(".") else number


def made(text: str) -> JsonObject:
    """Return the value of a quantity. Raises ValueError."""
    return _value(parsed(text))


def sign(value: Any) -> int:
    """Return -1, 0 or 1."""
    return (exact(value) > 0) - (exact(value) < 0)


def _value(amount: Fraction) -> JsonObject:
    return {"quantity": str(amount)}


def exact(value: Any) -> Fraction:
    """Return the exact number of a quantity, or of an integer. Raises ValueError."""
    if isinstance(value, Mapping) and isinstance(value.get("quantity"), str):
        return Fraction(value["quantity"])
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    raise ValueError("no such overload")


def _is_whole(number: Fraction) -> bool:
    return number.denominator == 1 and abs(number) <= _LARGEST


def _as_whole(number: Fraction) -> int:
    if not _is_whole(number):
        raise ValueError("cannot convert value to integer")
    return int(number)


METHODS: Mapping[str, Callable[..., Any]] = {
    "isInteger": lambda value: _is_whole(exact(value)),
    "asInteger": lambda value: _as_whole(exact(value)),
    "asApproximateFloat": lambda value: float(exact(value)),
    "add": lambda one, two: _value(exact(one) + exact(two)),
    "sub": lambda one, two: _value(exact(one) - exact(two)),
}
