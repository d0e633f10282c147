"""Reconcilers that get a typed object instead of a request.

def reconcile(site: Website) -> Result | None: ...
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from asoreconcile.base.signatures import (
    answers_only,
    check_takes,
    hints_of,
    is_of_other,
)
from asoreconcile.resources.informer import TypedInformer
from asoreconcile.resources.typed_kind import HasMetadata
from asoreconcile.runtime.reconciler import Reconcile, Reconciler, Request, Result

T = TypeVar("T", bound=HasMetadata)
T_contra = TypeVar("T_contra", bound=HasMetadata, contravariant=True)


class TypedReconciler(Protocol[T_contra]):
    """Moves one object from its actual to its desired state."""

    def reconcile(self, obj: T_contra, /) -> Result | None:
        """Reconcile one object once. It gets its own copy of the cached object. None
        means `Result()`. Otherwise as `Reconciler.reconcile`.

        It is not called for a deleted object: clean-up needs a finalizer, or a
        reconciler that takes a `Request`.
        """


TypedReconcile = Callable[[T], Result | None]
"""A plain function with the contract of `TypedReconciler.reconcile`."""


def reconcile_of_class(
    cls: type[T],
    informer: TypedInformer[T],
    reconciler: "TypedReconciler[T] | TypedReconcile[T] | Reconciler | Reconcile",
) -> Reconciler | Reconcile:
    """The function to call for each request: it reads the object and reconciles it.

    A reconciler whose parameter is annotated as `Request` is returned unchanged.
    Raises TypeError, before anything runs, for a function that does not take one object
    of the class, or is annotated to return anything but a Result.
    """
    if isinstance(reconciler, type):
        raise TypeError(f"{reconciler.__name__} is a class: give an object of it")
    function: Any = getattr(reconciler, "reconcile", reconciler)
    check_takes(function, cls.__name__, what="reconciler")
    takes, answers = hints_of(function)
    name = getattr(function, "__qualname__", repr(function)[:80])
    if takes is Request:
        return function  # type: ignore[no-any-return]  # as annotated
    if is_of_other(takes, cls):
        raise TypeError(
            f"{name} takes {takes.__name__}, and is to reconcile {cls.__name__}"
        )
    if not answers_only(answers, Result):
        raise TypeError(
            f"{name} answers {answers}: a reconciler answers Result or None"
        )

    def reconcile(request: Request) -> Result:
        obj = informer.get(request.key)
        answer = None if obj is None else function(obj)
        return Result() if answer is None else answer

    return reconcile
