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


def functions(cel: Any) -> list[Any]:
    """Return the functions for the engine's environment.

    cel: the engine's module.
    """
    dyn, text, whole = cel.Type.DYN, cel.Type.STRING, cel.Type.INT
    truth, double = cel.Type.BOOL, cel.Type.DOUBLE

    def made(name: str, gives: Any, takes: list[Any], impl: Callable[..., Any]) -> Any:
        one = cel.Overload(
            f"quantity_{name}",
            return_type=gives,
            parameters=takes,
            is_member=takes[0] is dyn and name != "sign",
            impl=impl,
        )
        return cel.FunctionDecl(name, [one])

    def over(impl: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *stated: impl(*(_number(one) for one in stated))

    def summed(impl: Callable[..., Fraction]) -> Callable[..., Any]:
        return lambda *stated: _value(impl(*(_number(one) for one in stated)))

    return [
        made("quantity", dyn, [text], lambda stated: _value(parsed(stated))),
        made("isQuantity", truth, [text], _is_one),
        made("sign", whole, [dyn], over(lambda n: (n > 0) - (n < 0))),
        made("isInteger", truth, [dyn], over(_is_whole)),
        made("asInteger", whole, [dyn], over(_as_whole)),
        made("asApproximateFloat", double, [dyn], over(float)),
        made("add", dyn, [dyn, dyn], summed(lambda a, b: a + b)),
        made("sub", dyn, [dyn, dyn], summed(lambda a, b: a - b)),
        made("isGreaterThan", truth, [dyn, dyn], over(lambda a, b: a > b)),
        made("isLessThan", truth, [dyn, dyn], over(lambda a, b: a < b)),
        made("compareTo", whole, [dyn, dyn], over(lambda a, b: (a > b) - (a < b))),
    ]


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


def _value(number: Fraction) -> JsonObject:
    return {"quantity": str(number)}


def _number(value: Any) -> Fraction:
    if isinstance(value, Mapping) and isinstance(value.get("quantity"), str):
        return Fraction(value["quantity"])
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    raise ValueError("no such overload")


def _is_one(text: str) -> bool:
    try:
        parsed(text)
    except ValueError:
        return False
    return True


def _is_whole(number: Fraction) -> bool:
    return number.denominator == 1 and abs(number) <= _LARGEST


def _as_whole(number: Fraction) -> int:
    if not _is_whole(number):
        raise ValueError("cannot convert value to integer")
    return int(number)
