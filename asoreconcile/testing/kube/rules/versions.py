"""`semver("1.2.3")` and its methods, which Kubernetes adds to CEL. Pure."""

import re
from collections.abc import Callable
from typing import Any

from asoreconcile.base.objects import JsonObject

_NUMBER = r"(?:0|[1-9]\d*)"
_PRERELEASE = rf"(?:{_NUMBER}|\d*[A-Za-z-][0-9A-Za-z-]*)"
_FORM = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})"
    rf"(?:-({_PRERELEASE}(?:\.{_PRERELEASE})*))?"
    r"(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?",
    re.ASCII,
)
_PARTS = ("major", "minor", "patch")
_LEADING = re.compile(r"\b0+(?=\d)")


def made(text: str, is_normalized: bool = False) -> JsonObject:
    """Return a version. Raises ValueError.

    is_normalized: whether `v1.2` and `01.2.3` may stand for versions, too.
    """
    stated = _normalized(text) if is_normalized else text
    if not _FORM.fullmatch(stated):
        raise ValueError(f"Semver parse error during conversion from string: {text!r}")
    return {"semver": stated}


def key(value: Any) -> tuple[Any, ...]:
    """Return the sort key of a version; build metadata does not count."""
    found = _FORM.fullmatch(value["semver"])
    if found is None:
        raise ValueError("no such overload")
    numbers = tuple(int(found[place]) for place in (1, 2, 3))
    if not found[4]:
        return (*numbers, 1)
    parts = [
        (0, int(one), "") if one.isdecimal() else (1, 0, one)
        for one in found[4].split(".")
    ]
    return (*numbers, 0, *parts)


def part(name: str) -> Callable[[Any], int]:
    """Return the function of one number of a version."""
    return lambda value: int(key(value)[_PARTS.index(name)])


def _normalized(text: str) -> str:
    stated = text.removeprefix("v")
    core = re.split("[-+]", stated, maxsplit=1)[0]
    numbers = [_LEADING.sub("", one) for one in core.split(".")]
    numbers += ["0"] * (len(_PARTS) - len(numbers))
    return ".".join(numbers) + stated[len(core) :]
