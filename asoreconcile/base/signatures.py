"""Checks users' functions when they are passed in, not when they are first called."""

import inspect
import types
from collections.abc import Callable
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints


def check_takes(function: Any, *arguments: str, what: str, lazy: bool = False) -> None:
    """Check that a function can be called with these positional arguments and returns
    directly.

    arguments: their names, for the message. what: the function's role. lazy: the result
    is iterated, so a generator function is allowed.
    Raises TypeError, which names the arguments. A function without an inspectable
    signature (some in C) is accepted. Pure.
    """
    name = getattr(function, "__qualname__", None) or repr(function)[:80]
    if not callable(function):
        raise TypeError(f"{name} is no {what}: it cannot be called")
    called = function if inspect.isroutine(function) else function.__call__
    # These return at once without running their body: it would look like success.
    if _is_async(function) or _is_async(called):
        raise TypeError(f"{name} is a coroutine function: a {what} runs on a thread")
    if not lazy and any(map(inspect.isgeneratorfunction, (function, called))):
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
    """Return the annotations of the first parameter and the return value; Any if
    missing. Pure.
    """
    if not isinstance(function, types.FunctionType | types.MethodType):
        function = getattr(function, "__call__", function)  # noqa: B004 - its method
    try:
        hints = get_type_hints(function)
    except (NameError, TypeError, AttributeError):
        return Any, Any  # a name known only to type checkers, or not a Python function
    answers = hints.pop("return", Any)
    return next(iter(hints.values()), Any), answers


def is_of_other(hint: Any, cls: type) -> bool:
    """Return whether an annotation is a class unrelated to `cls`. Pure."""
    if (
        hint is Any
        or not isinstance(hint, type)
        or getattr(hint, "_is_protocol", False)
    ):
        return False
    return not issubclass(cls, hint)


def answers_only(hint: Any, *classes: type) -> bool:
    """Return whether an annotated return type is None or of these classes; True if
    unknown. Pure.
    """
    if get_origin(hint) in (Union, types.UnionType):
        return all(answers_only(one, *classes) for one in get_args(hint))
    if isinstance(hint, type) and issubclass(hint, classes):
        return True
    return hint in (Any, None, type(None)) or isinstance(hint, TypeVar)


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def _shown(signature: inspect.Signature) -> str:
    """Return the parameters by name, without annotations."""
    parameters = (
        one.replace(annotation=inspect.Parameter.empty)
        for one in signature.parameters.values()
    )
    return str(inspect.Signature(list(parameters)))
