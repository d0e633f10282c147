"""What is kept of the last GET of a resource, to tell that nothing changed. Pure."""

from zlib import crc32

import attrs

from asoreconcile.arm.body_digest import digest_of
from asoreconcile.azure.row_reading import RowReading
from asoreconcile.objects import JsonObject

# So many syncs in a row go by lists, before a GET looks whether those show all.
_LISTED_IN_A_ROW = 128
# Nearer to the last look than the shortest period, somebody asked for this one.
_OF_THE_PERIOD = 0.7


@attrs.frozen
class LastLook:
    """One object's last look at its resource.

    at: when, in monotonic seconds. digest: of the body that the last GET answered.
    listed: looks since that GET, by a list. row: what Resource Graph shows of it; None
    where that does not show all of it, or was not looked at.
    """

    at: float
    digest: bytes
    listed: int = 0
    row: RowReading | None = None

    @classmethod
    def by_get(cls, body: JsonObject, at: float, arm_id: str) -> "LastLook":
        """arm_id: spreads the GETs of many over the periods."""
        return cls(at, digest_of(body), crc32(arm_id.encode()) % _LISTED_IN_A_ROW)

    def is_listable(self, now: float, period_seconds: float) -> bool:
        """Whether the next look may go by a list: it is the period's, and not the one
        in many that goes by a GET all the same.
        """
        is_due = now - self.at >= _OF_THE_PERIOD * period_seconds
        return is_due and self.listed < _LISTED_IN_A_ROW

    def agrees(self, body: JsonObject) -> bool:
        """Whether a body says what the last GET did."""
        return digest_of(body) == self.digest

    def confirmed(self, at: float, *, weight: int = 1) -> "LastLook":
        """A list of that time says the same. weight: how far it brings the next GET."""
        return attrs.evolve(self, at=at, listed=self.listed + weight)
