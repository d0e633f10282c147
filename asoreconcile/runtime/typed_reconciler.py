"""Reconcilers that get an object of their class instead of a request.

def reconcile(site: Website) -> Result | None: ...
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from asoreconcile.resources.informer import TypedInformer
from asoreconcile.resources.typed_kind import HasMetadata
from asoreconcile.runtime.reconciler import Reconcile, Reconciler, Request, Result
from asoreconcile.signatures import answers_only, check_takes, hints_of, is_of_other

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
