"""Owners as Azure has them, read once for all children that wait on the same one.

A cluster with two hundred databases would be read two hundred times in a second else.
"""

import threading

import attrs

from asoreconcile.arm.client import ArmClient
from asoreconcile.clock import Clock
from asoreconcile.objects import JsonObject
from asoreconcile.single_flight import SingleFlight

# Shorter than the shortest back-off that a blocked child is tried again with twice.
_MAX_AGE_SECONDS = 2.0
# Whole bodies: more owners than this are read again rather than kept.
_KEPT = 256
_Key = tuple[str, str, str]


@attrs.frozen
class _Read:
    body: JsonObject
    at: float


class OwnerReads:
    """Reads that are shared while they are young. Safe from any thread."""

    def __init__(
        self, clock: Clock, *, max_age_seconds: float = _MAX_AGE_SECONDS
    ) -> None:
        self._clock = clock
        self._max_age_seconds = max_age_seconds
        self._lock = threading.Lock()
        self._reads: dict[_Key, _Read] = {}
        self._under_way: SingleFlight[_Key, JsonObject] = SingleFlight()

    def get(
        self, client: ArmClient, arm_id: str, api_version: str, *, credential: str
    ) -> JsonObject:
        """The resource's body; the caller must not change it. One request at most.

        credential: whose it is; what one may read is not shown to another. Those that
        come while one reads wait for its answer, and no longer than they may take.
        Raises what `ArmClient.get` does, to all who wait; later ones read again.
        """
        key = (credential, arm_id.lower(), api_version)

        def read() -> JsonObject:
            # Another read may have ended since this thread looked.
            young = self._young(key)
            return young.body if young else self._read(client, key, arm_id)

        young = self._young(key)
        return young.body if young else self._under_way.do(key, read)

    def _read(self, client: ArmClient, key: _Key, arm_id: str) -> JsonObject:
        body = client.get(arm_id, key[2])
        now = self._clock.monotonic()
        with self._lock:
            # Only then: most clusters have fewer owners than that in two seconds.
            if len(self._reads) >= _KEPT:
                self._reads = {
                    k: read for k, read in self._reads.items() if self._is_young(read)
                }
            self._reads[key] = _Read(body, now)
        return body

    def _young(self, key: _Key) -> _Read | None:
        # Without the lock: the dict is replaced when it is pruned, never changed under
        # a reader but by whole entries. Who misses one that is just coming looks again
        # (`read`).
        read = self._reads.get(key)
        return read if read is not None and self._is_young(read) else None

    def _is_young(self, read: _Read) -> bool:
        return self._clock.monotonic() - read.at < self._max_age_seconds
