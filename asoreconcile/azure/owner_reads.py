"""Owners as Azure has them, read once for all children that wait on the same one.

A cluster with two hundred databases would be read two hundred times in a second else.
"""

import threading

import attrs

from asoreconcile.arm.client import ArmClient
from asoreconcile.clock import Clock
from asoreconcile.objects import JsonObject

# Shorter than the shortest back-off that a blocked child is tried again with twice.
_MAX_AGE_SECONDS = 2.0
_KEPT = 256
_Key = tuple[str, str, str]


@attrs.define(eq=False)
class _Read:
    lock: threading.Lock = attrs.field(factory=threading.Lock)
    body: JsonObject = attrs.field(factory=dict)
    at: float | None = None


class OwnerReads:
    """Reads that are shared while they are young. Safe from any thread."""

    def __init__(
        self, clock: Clock, *, max_age_seconds: float = _MAX_AGE_SECONDS
    ) -> None:
        self._clock = clock
        self._max_age_seconds = max_age_seconds
        self._lock = threading.Lock()
        self._reads: dict[_Key, _Read] = {}

    def get(
        self, client: ArmClient, arm_id: str, api_version: str, *, credential: str
    ) -> JsonObject:
        """The resource's body; the caller must not change it. One request at most.

        credential: whose it is; what one may read is not shown to another. Those that
        come while one reads wait for its answer. Raises what `ArmClient.get` does;
        failures are not shared.
        """
        read = self._read((credential, arm_id.lower(), api_version))
        with read.lock:
            if not self._is_young(read):
                read.body = client.get(arm_id, api_version)
                read.at = self._clock.monotonic()
            return read.body

    def _read(self, key: _Key) -> _Read:
        with self._lock:
            if len(self._reads) >= _KEPT:
                self._reads = {
                    known: read
                    for known, read in self._reads.items()
                    if read.lock.locked() or self._is_young(read)
                }
            return self._reads.setdefault(key, _Read())

    def _is_young(self, read: _Read) -> bool:
        if read.at is None:
            return False
        return self._clock.monotonic() - read.at < self._max_age_seconds
