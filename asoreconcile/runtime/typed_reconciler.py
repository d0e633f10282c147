"""Reconcilers that get an object of their class instead of a request.

def reconcile(site: Website) -> Result | None: ...
"""

import types
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

from asoreconcile.resources.informer import TypedInformer
from asoreconcile.resources.typed_kind import HasMetadata
from asoreconcile.runtime.reconciler import Reconcile, Reconciler, Request, Result
from asoreconcile.signatures import check_takes

T = TypeVar("T", bound=HasMetadata)
T_contra = TypeVar("T_contra", bound=HasMetadata, contravariant=True)


class TypedReconciler(Protocol[T_contra]):
    """Brings one object from where it is to where it should be."""

    def reconcile(self, obj: T_contra, /) -> Result | None:
        """One reconcile of one object, which is the reconciler's own, as the cache has
        it. None is `Result()`. As `Reconciler.reconcile` otherwise.

        It is not called for an object that is gone: what must happen then needs a
        finalizer, or a reconciler that takes a `Request`.
        """


TypedReconcile = Callable[[T], Result | None]
"""As `TypedReconciler.reconcile`: a plain function will do."""


def reconcile_of_class(
    cls: type[T],
    informer: TypedInformer[T],
    reconciler: "TypedReconciler[T] | TypedReconcile[T] | Reconciler | Reconcile",
) -> Reconciler | Reconcile:
    """What to call for each request: reads the object, and has it reconciled.

    A reconciler whose parameter is annotated as a `Request` is taken as it is.
    Raises TypeError for a function that does not take one object of the class, or whose
    answer is no Result, before anything runs.
    """
    if isinstance(reconciler, type):
        raise TypeError(f"{reconciler.__name__} is a class: give an object of it")
    function: Any = getattr(reconciler, "reconcile", reconciler)
    check_takes(function, cls.__name__, what="reconciler")
    takes, answers = _annotations(function)
    name = getattr(function, "__qualname__", repr(function)[:80])
    if takes is Request:
        return function  # type: ignore[no-any-return]  # as annotated
    if _is_other_class(takes, cls):
        raise TypeError(
            f"{name} takes {takes.__name__}, and is to reconcile {cls.__name__}"
        )
    if not _is_result(answers):
        raise TypeError(
            f"{name} answers {answers}: a reconciler answers Result or None"
        )

    def reconcile(request: Request) -> Result:
        obj = informer.get(request.key)
        answer = None if obj is None else function(obj)
        return Result() if answer is None else answer

    return reconcile


def _annotations(function: Any) -> tuple[Any, Any]:
    """Of the first parameter and of the answer; Any where nothing is said."""
    if not isinstance(function, types.FunctionType | types.MethodType):
        function = getattr(function, "__call__", function)  # noqa: B004 - its method
    try:
        hints = get_type_hints(function)
    except (NameError, TypeError, AttributeError):
        return Any, Any  # a name of a type checker alone; or no function of Python
    answers = hints.pop("return", Any)
    return next(iter(hints.values()), Any), answers


def _is_other_class(hint: Any, cls: type) -> bool:
    if (
        hint is Any
        or not isinstance(hint, type)
        or getattr(hint, "_is_protocol", False)
    ):
        return False
    return not issubclass(cls, hint)


def _is_result(hint: Any) -> bool:
    if get_origin(hint) in (Union, types.UnionType):
        return all(map(_is_result, get_args(hint)))
    if isinstance(hint, type) and issubclass(hint, Result):
        return True
    return hint in (Any, None, type(None)) or isinstance(hint, TypeVar)
