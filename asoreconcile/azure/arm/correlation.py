"""The id that connects one reconcile's requests in the operator's logs and in Azure's.

A reconcile opens a `correlated` block; every ARM request in its context carries the id
in `x-ms-correlation-request-id`. Rule: H1.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from asoreconcile.base.random_id import random_id

CORRELATION_ID = "x-ms-correlation-request-id"
CLIENT_REQUEST_ID = "x-ms-client-request-id"

# A context variable: a reconcile's work on other threads has the id if it copies the
# context.
_CURRENT: ContextVar[str] = ContextVar("asoreconcile_correlation", default="")


@contextmanager
def correlated(correlation_id: str = "") -> Iterator[str]:
    """Give the requests in this block one correlation id: the given one, else a new
    one.
    """
    value = correlation_id or random_id()
    token = _CURRENT.set(value)
    try:
        yield value
    finally:
        _CURRENT.reset(token)


def current() -> str:
    """Return the correlation id of this context, or "" outside a block."""
    return _CURRENT.get()
