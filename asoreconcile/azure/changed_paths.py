"""Where two statuses of one resource differ, for people to look. Pure.

Paths alone: a status is for everybody to read, and an event is kept longer than it.
"""

from collections.abc import Iterator
from typing import Any

# A version and its state change with whatever else does.
_NOT_NAMED = frozenset({"etag", "systemData", "provisioningState"})


def changed_paths(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, ...]:
    """`addressSpace.addressPrefixes[1]`, in the order of names; null is not there.

    A list of another length is one path: which element is new, it does not say.
    """
    return tuple(_walk(before, after, ""))


def _walk(before: Any, after: Any, at: str) -> Iterator[str]:
    match before, after:
        case dict(), dict():
            for name in sorted({*before, *after} - _NOT_NAMED):
                inside = f"{at}.{name}" if at else name
                yield from _walk(before.get(name), after.get(name), inside)
        case list(), list() if len(before) == len(after):
            for index, (one, other) in enumerate(zip(before, after, strict=True)):
                yield from _walk(one, other, f"{at}[{index}]")
        case _ if before != after:
            yield at
