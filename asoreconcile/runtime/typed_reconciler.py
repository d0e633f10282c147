"""Adapts reconcilers that get a typed object instead of a request.

def reconcile(site: Website) -> Result | None: ...
"""

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from asoreconcile.base.errors import TerminalError
from asoreconcile.base.objects import JsonObject, ObjectKey
from asoreconcile.base.signatures import (
    answers_only,
    check_takes,
    hints_of,
    is_of_other,
)
from asoreconcile.cache.unreadable import Unreadable
from asoreconcile.resources.decoded import unreadable_of
from asoreconcile.resources.informer import TypedInformer
from asoreconcile.resources.typed_kind import HasMetadata, kind_of
from asoreconcile.runtime.reconciler import Reconcile, Reconciler, Request, Result

T = TypeVar("T", bound=HasMetadata)
T_contra = TypeVar("T_contra", bound=HasMetadata, contravariant=True)


class TypedReconciler(Protocol[T_contra]):
    """Moves one object from its actual to its desired state."""

    def reconcile(self, obj: T_contra, /) -> Result | None:
        """Reconcile one object once.

        obj: a private copy of the cached object. Returning None means `Result()`.
        Otherwise as `Reconciler.reconcile`.

        It is not called for a deleted object: clean-up needs a finalizer, or a
        reconciler that takes a `Request`.
        """


TypedReconcile = Callable[[T], Result | None]
"""A plain function with the contract of `TypedReconciler.reconcile`."""


ReconcileUnreadable = Callable[[JsonObject, Unreadable], Result | None]
"""Reconciles an object that does not fit its class, a deletion included. It gets its
own copy of the cached object, and why it does not fit; None means `Result()`.
"""


def reconcile_of_class(
    cls: type[T],
    informer: TypedInformer[T],
    reconciler: "TypedReconciler[T] | TypedReconcile[T] | Reconciler | Reconcile",
    unreadable: ReconcileUnreadable | None = None,
) -> Reconciler | Reconcile:
    """Return the function to call for each request: it reads the object and reconciles
    it.

    An object that does not fit the class is reported like an object that the cache
    cannot read: by a Warning event, unless the application has another report.
    unreadable: function called with such an object; without it the reconcile ends with
    a TerminalError.

    A reconciler whose parameter is annotated as `Request` is returned unchanged.
    Raises TypeError, before anything runs, for a function that does not take one object
    of the class, or is annotated to return anything but a Result.
    """
    if unreadable is not None:
        check_takes(unreadable, "obj", "found", what="on_unreadable")
    if isinstance(reconciler, type):
        raise TypeError(f"{reconciler.__name__} is a class: give an object of it")
    function: Any = getattr(reconciler, "reconcile", reconciler)
    check_takes(function, cls.__name__, what="reconciler")
    takes, answers = hints_of(function)
    name = getattr(function, "__qualname__", repr(function)[:80])
    if takes is Request:
        return function  # type: ignore[no-any-return]  # as annotated
    if is_of_other(takes, cls):
        raise TypeError(f"{name} takes {takes.__name__}, but reconciles {cls.__name__}")
    if not answers_only(answers, Result):
        raise TypeError(
            f"{name} answers {answers}: a reconciler answers Result or None"
        )

    def reconcile(request: Request) -> Result:
        from asoreconcile.resources.codec import ObjectDecodeError

        try:
            obj = informer.get(request.key)
        except ObjectDecodeError as error:
            return judge.judged(request.key, error)
        judge.reported.pop(request.key, None)
        answer = None if obj is None else function(obj)
        return Result() if answer is None else answer

    judge = _UnreadableObjects(informer, unreadable)
    return reconcile


class _UnreadableObjects(Generic[T]):
    """Reports and reconciles the objects of a controller that do not fit its class."""

    def __init__(
        self, informer: TypedInformer[T], reconcile: ReconcileUnreadable | None
    ) -> None:
        self._untyped = informer.untyped
        self._kind = kind_of(informer.cls)
        self._reconcile = reconcile
        self.reported: dict[ObjectKey, Unreadable] = {}

    def judged(self, key: ObjectKey, error: Exception) -> Result:
        """Return the result for an object that does not fit the class. Raises
        TerminalError if no function handles such objects.
        """
        document = self._untyped.get(key)
        if document is None:
            return Result()
        found = unreadable_of(self._kind, document, error)
        if found.is_news_after(self.reported.get(key)):
            self._untyped.report(found)
            self.reported[key] = found
        if self._reconcile is None:
            raise TerminalError(found.message) from error
        return self._reconcile(document, found) or Result()
