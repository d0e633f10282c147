"""The paths at which two statuses of one resource differ, for people. Pure.

Without values: an event outlives the status.
"""

from collections.abc import Iterator
from typing import Any

# Etags and states change together with any other value.
_NOT_NAMED = frozenset({"etag", "systemData", "provisioningState"})


def changed_paths(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, ...]:
    """`addressSpace.addressPrefixes[1]`, in the order of names; null is not there.

    A list that changed its length is one path, without the element.
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
