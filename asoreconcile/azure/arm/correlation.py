"""The id that all requests of one reconcile share, in our logs and in Azure's.

A reconcile opens a block; every ARM request on that thread carries its id in
`x-ms-correlation-request-id`. Rule: H1.
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
    """Give this thread's requests one correlation id, a new one unless given."""
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
    """The correlation id of this thread, or "" outside a block."""
    return _CURRENT.get()
