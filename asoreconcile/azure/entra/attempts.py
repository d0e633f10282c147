"""The additions of members and owners that Graph's lists do not confirm.

They are kept in memory. After a restart each addition is tried again, which does no
harm.
"""

from collections.abc import Collection, Mapping
from enum import Enum, auto
from typing import get_args

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
    """The latest attempts of all objects, by link and id. Safe from any thread: an
    object has one reconcile at a time, and each change is of one entry.
    """

    def __init__(self) -> None:
        self._of: dict[tuple[ObjectKey, GroupLink], Mapping[str, Attempt]] = {}

    def unconfirmed(
        self, key: ObjectKey, link: GroupLink, *, listed: Collection[str], now: float
    ) -> Mapping[str, Attempt]:
        """Return the attempts that still count, by id, although a list does not show
        the ids.
        """
        there = set(listed)
        return {
            id_: one
            for id_, one in self._of.get((key, link), {}).items()
            if id_ not in there and not one.is_over(now)
        }

    def note(
        self, key: ObjectKey, link: GroupLink, attempts: Mapping[str, Attempt]
    ) -> None:
        """Keep the attempts of a link, by id, in place of the former ones."""
        if attempts:
            self._of[key, link] = attempts
        else:
            self._of.pop((key, link), None)

    def forget(self, key: ObjectKey) -> None:
        """Drop the attempts of an object."""
        for link in get_args(GroupLink):
            self._of.pop((key, link), None)
