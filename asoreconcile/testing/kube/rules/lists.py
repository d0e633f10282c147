"""Functions of lists and regular expressions that Kubernetes adds to CEL. Pure.

They are `isSorted`, `sum`, `min`, `max`, `indexOf`, `lastIndexOf`, `find` and
`findAll`. They raise ValueError if a real server's engine reports an error.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from asoreconcile.resources.crds import patterns


def _is_sorted(items: Sequence[Any]) -> bool:
    return all(one <= two for one, two in pairwise(items))


def _sum(items: Sequence[Any]) -> Any:
    return _given(sum(items[1:], items[0])) if items else 0


def _least(items: Sequence[Any]) -> Any:
    if not items:
        raise ValueError("min called on empty list")
    return _given(min(items))


def _most(items: Sequence[Any]) -> Any:
    if not items:
        raise ValueError("max called on empty list")
    return _given(max(items))


def _given(value: Any) -> Any:
    """Return a value in the engine's form: times as protobuf messages."""
    from google.protobuf.duration_pb2 import Duration
    from google.protobuf.timestamp_pb2 import Timestamp

    if isinstance(value, dt.timedelta):
        span = Duration()
        span.FromTimedelta(value)
        return span
    if isinstance(value, dt.datetime):
        moment = Timestamp()
        moment.FromDatetime(value)
        return moment
    return bytes(value) if isinstance(value, bytearray) else value


def _first_at(items: Sequence[Any], wanted: Any) -> int:
    return next((n for n, item in enumerate(items) if _is_same(item, wanted)), -1)


def _last_at(items: Sequence[Any], wanted: Any) -> int:
    found = _first_at(items[::-1], wanted)
    return found if found < 0 else len(items) - 1 - found


def _is_same(one: Any, two: Any) -> bool:
    """Return whether two values are equal. Unlike in Python, true does not equal 1."""
    return isinstance(one, bool) is isinstance(two, bool) and bool(one == two)


def _find(text: str, pattern: str) -> str:
    found = patterns.compiled(pattern).search(text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    found: list[Any] = []
    for match in patterns.compiled(pattern).finditer(text):
        if not (match[0] == "" and found and found[-1].end() == match.start()):
            # an empty match right after another match does not count
            found.append(match)
    return [match[0] for match in (found if most < 0 else found[:most])]


CODE: Mapping[str, Callable[..., Any]] = {
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": _least,
    "max": _most,
    "indexOf": _first_at,
    "lastIndexOf": _last_at,
    "find": _find,
    "findAll": _find_all,
}
