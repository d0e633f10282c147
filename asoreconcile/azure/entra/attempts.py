"""The additions of members and owners that Graph's lists do not confirm.

They are kept in memory. After a restart each addition is tried again, which does no
harm.
"""

import threading
from collections.abc import Collection, Mapping
from enum import Enum, auto

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.entra.decisions import VISIBLE_SECONDS
from asoreconcile.azure.graph.client import GroupLink
from asoreconcile.base.objects import ObjectKey

# How long an answer other than a success is not asked for again.
_KEPT_SECONDS = 3600.0


class LinkAnswer(Enum):
    """Graph's answer to an addition."""

    ADDED = auto()
    THERE_ALREADY = auto()  # although the list did not show the object
    NO_SUCH_OBJECT = auto()
    REFUSED = auto()


@attrs.frozen
class Attempt:
    """One addition. at: time of the addition in `Clock.monotonic` seconds. refusal:
    refusal of Graph; only for REFUSED.
    """

    answer: LinkAnswer
    at: float
    refusal: ConditionError | None = None

    @property
    def is_in(self) -> bool:
        """Return whether the object is in the group, as Graph says."""
        return self.answer in (LinkAnswer.ADDED, LinkAnswer.THERE_ALREADY)

    def is_over(self, now: float) -> bool:
        """Return whether the addition may be tried again."""
        is_added = self.answer is LinkAnswer.ADDED
        return now - self.at >= (VISIBLE_SECONDS if is_added else _KEPT_SECONDS)


class LinkAttempts:
    """The latest attempts of all objects, by link and id. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: dict[ObjectKey, dict[tuple[GroupLink, str], Attempt]] = {}

    def unconfirmed(
        self, key: ObjectKey, link: GroupLink, *, listed: Collection[str], now: float
    ) -> Mapping[str, Attempt]:
        """Return a link's attempts, by id, that the list does not confirm.

        Attempts of this link that are confirmed or too old are forgotten.
        """
        there = set(listed)
        with self._lock:
            kept = {
                (of, id_): one
                for (of, id_), one in self._of.get(key, {}).items()
                if of != link or (id_ not in there and not one.is_over(now))
            }
            self._set(key, kept)
            return {id_: one for (of, id_), one in kept.items() if of == link}

    def note(
        self, key: ObjectKey, link: GroupLink, attempts: Mapping[str, Attempt]
    ) -> None:
        """Replace the attempts of one link of an object."""
        with self._lock:
            others = {
                at: one for at, one in self._of.get(key, {}).items() if at[0] != link
            }
            mine = {(link, id_): one for id_, one in attempts.items()}
            self._set(key, {**others, **mine})

    def forget(self, key: ObjectKey) -> None:
        """Drop the attempts of an object that is gone."""
        with self._lock:
            self._of.pop(key, None)

    def _set(
        self, key: ObjectKey, attempts: dict[tuple[GroupLink, str], Attempt]
    ) -> None:
        """Replace the attempts of an object. The caller holds the lock."""
        if attempts:
            self._of[key] = attempts
        else:
            self._of.pop(key, None)
