"""The id that connects one reconcile's requests in our logs and in Azure's.

A reconcile opens a `correlated` block; every ARM request in its context carries the id
in `x-ms-correlation-request-id`. Rule: H1.
"""

from contextlib import AbstractContextManager
from contextvars import ContextVar

from asoreconcile.base.random_id import random_id

CORRELATION_ID = "x-ms-correlation-request-id"
CLIENT_REQUEST_ID = "x-ms-client-request-id"

# A context variable: a reconcile's work on other threads has the id if it copies the
# context.
_CURRENT: ContextVar[str] = ContextVar("asoreconcile_correlation", default="")


def correlated(correlation_id: str = "") -> AbstractContextManager[str]:
    """Give the requests in this block one correlation id: the given one, else a new
    one.
    """
    return _Correlated(correlation_id or random_id())


class _Correlated:
    """The context of `correlated`. A class, as it is faster than a generator and each
    reconcile uses it.
    """

    __slots__ = ("_token", "_value")

    def __init__(self, value: str) -> None:
        self._value = value

    def __enter__(self) -> str:
        self._token = _CURRENT.set(self._value)
        return self._value

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._token)


def current() -> str:
    """Return the correlation id of this context, or "" outside a block."""
    return _CURRENT.get()
