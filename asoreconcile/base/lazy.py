"""Values that are computed once, on first use."""

import threading
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class Lazy(Generic[T]):
    """A value that the first caller computes while concurrent callers wait. Safe from
    any thread.

    It is used for values that are slow to load and may never be needed. An error is
    raised to the caller, and the next call tries again.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: list[T] = []

    def __call__(self) -> T:
        """Return the value. Blocks while it is computed; raises the exception of the
        computation.
        """
        if not self._made:
            with self._lock:
                if not self._made:
                    self._made.append(self._make())
        return self._made[0]


class computed_once(Generic[T]):  # noqa: N801 - a decorator
    """A property that is computed at its first use and kept in the object.

    `functools.cached_property` has one lock for all objects of a class in Python 3.11:
    a reconcile that signs in would block all others. Here threads that share an object
    may compute the value twice. For classes with a `__dict__`.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the attribute's name."""
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> Self | T:
        """Compute the value and keep it: the next access finds it in the object."""
        if instance is None:
            return self
        value = self._compute(instance)
        instance.__dict__[self._name] = value
        return value
