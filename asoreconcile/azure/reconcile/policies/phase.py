"""Phases: the rules of one moment of a reconcile, in a flat list.

A phase gets a frozen request. It returns None to go on, a changed request to go on with
that one, or the end of the reconcile; or it raises. A phase keeps no state. The lists
are in `order`.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar, cast

Asked = TypeVar("Asked")
End = TypeVar("End")

PhaseOf = Callable[[Asked], Asked | End | None]
"""A phase: takes a request; returns None, a changed request, or an end."""


def run(
    phases: Iterable[PhaseOf[Asked, End]], request: Asked, then: Callable[[Asked], End]
) -> End:
    """Run phases in their order; return the first end that one of them returns, else
    the result of `then`.

    request: frozen value for the first phase. then: takes the request that the phases
    have left. Raises the exceptions of the phases and of `then`.
    """
    kind = type(request)
    for phase in phases:
        answer = phase(request)
        if answer is None:
            continue
        if type(answer) is not kind:
            return cast("End", answer)
        request = answer
    return then(request)
