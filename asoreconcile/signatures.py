"""Functions looked at when they are given to us, not when they are first called."""

import inspect
import types
from collections.abc import Callable
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints


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


def hints_of(function: Any) -> tuple[Any, Any]:
    """What the first parameter and the answer are annotated as; Any where nothing is
    said. Pure.
    """
    if not isinstance(function, types.FunctionType | types.MethodType):
        function = getattr(function, "__call__", function)  # noqa: B004 - its method
    try:
        hints = get_type_hints(function)
    except (NameError, TypeError, AttributeError):
        return Any, Any  # a name of a type checker alone; or no function of Python
    answers = hints.pop("return", Any)
    return next(iter(hints.values()), Any), answers


def is_of_other(hint: Any, cls: type) -> bool:
    """Whether an annotation is a class that no object of `cls` is of. Pure."""
    if (
        hint is Any
        or not isinstance(hint, type)
        or getattr(hint, "_is_protocol", False)
    ):
        return False
    return not issubclass(cls, hint)


def answers_only(hint: Any, *classes: type) -> bool:
    """Whether an annotated answer is None or of these classes, where it says. Pure."""
    if get_origin(hint) in (Union, types.UnionType):
        return all(answers_only(one, *classes) for one in get_args(hint))
    if isinstance(hint, type) and issubclass(hint, classes):
        return True
    return hint in (Any, None, type(None)) or isinstance(hint, TypeVar)


def _is_generator(function: Callable[..., Any]) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def _shown(signature: inspect.Signature) -> str:
    """The parameters by name, without what they are annotated with."""
    parameters = (
        one.replace(annotation=inspect.Parameter.empty)
        for one in signature.parameters.values()
    )
    return str(inspect.Signature(list(parameters)))
