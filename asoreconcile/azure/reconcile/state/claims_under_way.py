"""Lets one object at a time claim an Azure id.

Two objects without a claim do not keep each other out. If both looked before either of
them wrote its claim, both would PUT the same resource.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from asoreconcile.azure.arm import ids
from asoreconcile.base.errors import RetryError

_AGAIN_SECONDS = 0.1


class ClaimsUnderWay:
    """The ids that are being claimed. Safe from any thread; never blocks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids: set[str] = set()

    @contextmanager
    def claiming(self, arm_id: str) -> Iterator[None]:
        """Return a context in which the caller looks for other objects with the id and
        writes the claim.

        Raises RetryError while another object claims the id.
        """
        key = ids.key(arm_id)
        with self._lock:
            if key in self._ids:
                message = f"another object is claiming {arm_id}"
                raise RetryError(message, after_seconds=_AGAIN_SECONDS)
            self._ids.add(key)
        try:
            yield
        finally:
            with self._lock:
                self._ids.discard(key)
