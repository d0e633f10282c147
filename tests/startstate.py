"""The state from which each test of a module starts: recorded once, then restored.

Making a world costs more than most tests in it: two servers, CRDs, and objects that
become Ready. `StartState` records the contents of all mutable objects that can be
reached from a world, and puts them back in place, so that references stay valid.
"""

import inspect
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

# Constant, or outlives a test: connections, threads, servers, tokens that clients keep.
_LEFT_ALONE = (
    "asoreconcile.azure.arm.credentials",
    "asoreconcile.azure.catalogue.",
    "asoreconcile.azure.controllers.catalogue",
    "asoreconcile.base.clock.",
    "asoreconcile.testing.arm.entra.",
    "asoreconcile.testing.arm.type_",
    "asoreconcile.testing.http",
    "asoreconcile.testing.kube.kinds.resources.RestResource",
    "asoreconcile.wire.",
)
_OURS = (
    "asoreconcile.",
    "azure.core.pipeline.",
    "world.",
    "databaseworlds.",
    "meanwhile.",
    "test_",
)


class StartState:
    """The contents of all that can be reached from an object, at one moment."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._undo: list[Callable[[], None]] = []
        self._seen: dict[int, Any] = {}  # with the objects: their ids stay theirs
        todo = [root]
        while todo:
            found = todo.pop()
            if id(found) not in self._seen:
                self._seen[id(found)] = found
                todo.extend(self._record(found))

    def restore(self) -> None:
        """Put all contents back."""
        for undo in self._undo:
            undo()

    def _record(self, found: Any) -> Iterator[Any]:
        """Remember how to restore an object; yield what it refers to."""
        match found:
            case dict() if "apiVersion" in found and "metadata" in found:
                return  # stored objects never change: a write stores another one
            case dict():
                self._undo.append(_refill(found, dict(found), found.update))
                yield from found.values()
            case list() | deque():
                self._undo.append(_refill(found, list(found), found.extend))
                yield from found
            case set():
                self._undo.append(_refill(found, set(found), found.update))
            case tuple():
                yield from found
            case _ if inspect.ismethod(found):
                yield found.__self__
            case _ if _is_ours(type(found)):
                yield from self._record_attributes(found)

    def _record_attributes(self, found: Any) -> Iterator[Any]:
        names = [n for t in type(found).__mro__ for n in getattr(t, "__slots__", ())]
        slots = {n: getattr(found, n) for n in names if _has_value(found, n)}
        yield from slots.values()
        if slots:
            self._undo.append(lambda: _set(found, slots))
        if hasattr(found, "__dict__"):
            yield vars(found)


def _refill(
    container: Any, content: Any, fill: Callable[[Any], None]
) -> Callable[[], None]:
    def undo() -> None:
        container.clear()
        fill(content)

    return undo


def _set(found: Any, slots: dict[str, Any]) -> None:
    for name, value in slots.items():
        object.__setattr__(found, name, value)  # of frozen classes too


def _has_value(found: Any, name: str) -> bool:
    return name != "__weakref__" and hasattr(found, name)


def _is_ours(type_: type) -> bool:
    name = f"{type_.__module__}.{type_.__qualname__}"
    return name.startswith(_OURS) and not name.startswith(_LEFT_ALONE)
