"""The record of a resource's last GET, to detect that nothing changed. Pure."""

from zlib import crc32

import attrs

from asoreconcile.azure.arm.body_digest import digest_of
from asoreconcile.base.objects import JsonObject

# After so many syncs in a row by lists, a GET checks whether the lists show every
# change.
_LISTED_IN_A_ROW = 128
# A reconcile sooner than the shortest period after the last one is not a periodic sync.
_OF_THE_PERIOD = 0.7


@attrs.frozen
class LastLook:
    """One object's last read of its resource.

    at: its time, in monotonic seconds. digest: of the last GET's body. listed: reads by
    a list since that GET. is_doubted: whether a list has shown something else since.
    """

    at: float
    digest: bytes
    listed: int = 0
    is_doubted: bool = False

    @classmethod
    def by_get(cls, body: JsonObject, at: float, arm_id: str) -> "LastLook":
        """arm_id: spreads the GETs of many over the periods."""
        return cls(at, digest_of(body), crc32(arm_id.encode()) % _LISTED_IN_A_ROW)

    def is_listable(self, now: float, period_seconds: float) -> bool:
        """Return whether the next read may use a list: it is a periodic sync, and not
        the one in many that must use a GET.
        """
        is_due = now - self.at >= _OF_THE_PERIOD * period_seconds
        return is_due and self.listed < _LISTED_IN_A_ROW

    def agrees(self, body: JsonObject) -> bool:
        """Return whether a body equals the last GET's."""
        return digest_of(body) == self.digest

    def confirmed(self, at: float) -> "LastLook":
        """Record that a list of that time showed no change."""
        return attrs.evolve(self, at=at, listed=self.listed + 1)
