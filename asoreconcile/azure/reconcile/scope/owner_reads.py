"""Reads owners from Azure, once for all children that wait for the same owner.

Otherwise the two hundred databases of a server would read the server two hundred times.
"""

import threading

import attrs

from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject
from asoreconcile.base.single_flight import SingleFlight

# Shorter than two of the shortest back-offs of a blocked child.
_MAX_AGE_SECONDS = 2.0
# The cache holds whole bodies, so it is limited; further owners are read again.
_KEPT = 256
_Key = tuple[str, str, str]


@attrs.define(eq=False)
class _Read:
    """A read of an owner that is under way.

    is_outdated: whether this process has written the owner since the read began.
    """

    body: JsonObject = attrs.field(factory=dict)
    at: float = 0.0
    is_outdated: bool = False


class OwnerReads:
    """Shares each read of an owner for a short time, at most until this process writes
    the owner. Safe from any thread.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._reads: dict[_Key, _Read] = {}
        self._started: dict[_Key, _Read] = {}
        self._under_way: SingleFlight[_Key, _Read] = SingleFlight()

    def get(
        self, client: ArmClient, arm_id: str, api_version: str, *, credential: str
    ) -> JsonObject:
        """Return the body of the owner; the caller must not change it.

        At most one request, unless the owner is written meanwhile.

        credential: answers are shared only between users of the same credential.
        Callers during a read wait for its answer, at most until their own deadline.
        Raises as `ArmClient.get` in all waiting callers; later callers read again.
        """
        key = (credential, arm_id.lower(), api_version)

        def read() -> _Read:
            # Another read may have ended since this thread checked.
            return self._young(key) or self._read(client, key, arm_id)

        while True:
            found = self._young(key) or self._under_way.do(key, read)
            if not found.is_outdated:
                return found.body

    def wrote(self, arm_id: str) -> None:
        """Record that this process has written a resource, so that reads which began
        before are not used any more.
        """
        id_ = arm_id.lower()
        with self._lock:
            for key in [key for key in self._reads if key[1] == id_]:
                del self._reads[key]
            for key, read in self._started.items():
                if key[1] == id_:
                    read.is_outdated = True

    def _read(self, client: ArmClient, key: _Key, arm_id: str) -> _Read:
        read = _Read()
        with self._lock:
            self._started[key] = read
        try:
            read.body = client.get(arm_id, key[2])
        finally:
            with self._lock:
                del self._started[key]
        read.at = self._clock.monotonic()
        with self._lock:
            # Only when full: most clusters have fewer owners than that in two seconds.
            if len(self._reads) >= _KEPT:
                self._reads = {
                    k: read for k, read in self._reads.items() if self._is_young(read)
                }
            if not read.is_outdated:
                self._reads[key] = read
        return read

    def _young(self, key: _Key) -> _Read | None:
        # Without the lock: other changes replace the dict or whole entries. A reader
        # that misses a new entry checks again (`read`).
        read = self._reads.get(key)
        return read if read is not None and self._is_young(read) else None

    def _is_young(self, read: _Read) -> bool:
        return self._clock.monotonic() - read.at < _MAX_AGE_SECONDS
