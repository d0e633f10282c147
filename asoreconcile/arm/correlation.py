"""The id that ties one reconcile's requests together, in our logs and in Azure's.

A reconcile opens a block; every ARM request on that thread carries its id in
`x-ms-correlation-request-id`. Rule: H1.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

CORRELATION_ID = "x-ms-correlation-request-id"
CLIENT_REQUEST_ID = "x-ms-client-request-id"

# A context variable, so that what a reconcile starts on other threads carries it where
# the context is taken along.
_CURRENT: ContextVar[str] = ContextVar("asoreconcile_correlation", default="")


@contextmanager
def correlated(correlation_id: str = "") -> Iterator[str]:
    """Give this thread's requests one correlation id, a new one unless given."""
    value = correlation_id or str(uuid.uuid4())
    reset = _CURRENT.set(value)
    try:
        yield value
    finally:
        _CURRENT.reset(reset)


def current() -> str:
    """The correlation id of this thread, or "" outside a block."""
    return _CURRENT.get()
