"""Functions of lists and regular expressions that Kubernetes adds to CEL. Pure.

They are `isSorted`, `sum`, `min`, `max`, `indexOf`, `lastIndexOf`, `find` and
`findAll`. They raise ValueError if a real server's engine reports an error.
"""

import datetime as dt
import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from asoreconcile.resources.crds import patterns

Overloads = tuple[Any, Callable[..., Any], tuple[Any, ...]]


def functions(cel: Any) -> list[Any]:
    """Return the functions, for the engine's environment.

    cel: the engine's module.
    """
    one, dyn = cel.Type.LIST, cel.Type.DYN
    return [
        *_patterns_and_places(cel),
        _member(cel, "isSorted", [(cel.Type.BOOL, _is_sorted, (one,))]),
        _member(cel, "sum", [(dyn, _sum, (one,))]),
        _member(cel, "min", [(dyn, _least, (one,))]),
        _member(cel, "max", [(dyn, _most, (one,))]),
    ]


def typed_functions(cel: Any) -> list[Any]:
    """Return functions that say which lists they are for, and comparisons of numbers of
    two types.

    Only for checks: when an expression runs, the types of items are not known.
    """
    kinds, listed = cel.Type, cel.Type.List
    numbers = (kinds.INT, kinds.UINT, kinds.DOUBLE)
    added = (*numbers, kinds.DURATION)
    ordered = (*added, kinds.BOOL, kinds.TIMESTAMP, kinds.STRING, kinds.BYTES)
    sort = [(kinds.BOOL, _is_sorted, (listed(one),)) for one in ordered]
    pairs = [(one, two) for one in numbers for two in numbers if one is not two]
    return [
        *_patterns_and_places(cel),
        _member(cel, "isSorted", sort),
        _member(cel, "sum", [(one, _sum, (listed(one),)) for one in added]),
        _member(cel, "min", [(one, _least, (listed(one),)) for one in ordered]),
        _member(cel, "max", [(one, _most, (listed(one),)) for one in ordered]),
        *(
            _member(cel, name, [(kinds.BOOL, compare, pair) for pair in pairs], False)
            for name, compare in _COMPARED.items()
        ),
    ]


_COMPARED = {
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}


def _patterns_and_places(cel: Any) -> list[Any]:
    one, dyn, text = cel.Type.LIST, cel.Type.DYN, cel.Type.STRING
    whole, texts = cel.Type.INT, cel.Type.List(text)
    found = [
        (texts, _find_all, (text, text)),
        (texts, _find_all, (text, text, whole)),
    ]
    return [
        _member(cel, "indexOf", [(whole, _first_at, (one, dyn))]),
        _member(cel, "lastIndexOf", [(whole, _last_at, (one, dyn))]),
        _member(cel, "find", [(text, _find, (text, text))]),
        _member(cel, "findAll", found),
    ]


def _member(
    cel: Any, name: str, overloads: Sequence[Overloads], is_member: bool = True
) -> Any:
    made = [
        cel.Overload(
            f"kubernetes_{name}_{number}",
            return_type=gives,
            parameters=list(takes),
            is_member=is_member,
            impl=impl,
        )
        for number, (gives, impl, takes) in enumerate(overloads)
    ]
    return cel.FunctionDecl(name, made)


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
