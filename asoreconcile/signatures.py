"""Functions looked at when they are given to us, not when they are first called."""

import inspect
from collections.abc import Callable
from typing import Any


def check_takes(function: Any, *arguments: str, what: str) -> None:
    """Whether a function can be called with these, in their order, and answers at once.

    arguments: a word for each, for the message. what: the function's part.
    Raises TypeError, which says what it is called with. A function that tells nothing
    of its parameters (some in C) is taken as it is. Pure.
    """
    name = getattr(function, "__qualname__", None) or repr(function)[:80]
    if not callable(function):
        raise TypeError(f"{name} is no {what}: it cannot be called")
    called = function if inspect.isroutine(function) else function.__call__
    # Each returns at once, without having run: it would look as if all was in order.
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called):
        raise TypeError(f"{name} is a coroutine function: a {what} runs on a thread")
    if _is_generator(function) or _is_generator(called):
        raise TypeError(f"{name} is a generator function: a {what} returns its answer")
    try:
        signature = inspect.signature(function)
    except ValueError:
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        given = ", ".join(arguments)
        raise TypeError(
            f"{name}{_shown(signature)} is no {what}: it is called with ({given}), "
            f"which it does not take: {error}"
        ) from error


def _is_generator(function: Callable[..., Any]) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def _shown(signature: inspect.Signature) -> str:
    """The parameters by name, without what they are annotated with."""
    parameters = (
        one.replace(annotation=inspect.Parameter.empty)
        for one in signature.parameters.values()
    )
    return str(inspect.Signature(list(parameters)))
