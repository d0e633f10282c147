"""Account how much of something scarce each user has used lately.

The scarce things are the engines of expressions and the worker threads. Used time is
halved every minute. Time that a user is still using counts as it passes.

A plain structure: the owner holds its lock around every call. Times are
`Clock.monotonic` seconds.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

import attrs

User = TypeVar("User", bound=Hashable)

HALF_LIFE_SECONDS = 60.0
# Less than this is not remembered.
_FORGOTTEN_SECONDS = 0.001
# A user with a small part of the busiest one's use is not what keeps others waiting.
_PART_OF_BUSIEST = 0.25
# How old the number of the busiest user may be: it is needed at each decision.
_BUSIEST_FOR_SECONDS = 0.25


@attrs.define(eq=False)
class _Account:
    """The use of one user.

    seconds, at: the finished use as of a time. running, since: number of unfinished
    uses, and the sum of their starts.
    """

    seconds: float = 0.0
    at: float = 0.0
    running: int = 0
    since: float = 0.0

    def used(self, now: float) -> float:
        """Return the use as of now, finished or not."""
        past = self.seconds * 0.5 ** ((now - self.at) / HALF_LIFE_SECONDS)
        # Clamped, because of rounding.
        return float(past + max(0.0, self.running * now - self.since))


class RecentUse(Generic[User]):
    """The seconds that each user has used lately."""

    def __init__(self, share_seconds: float) -> None:
        """share_seconds: recent use that is within the share of any user."""
        self._share_seconds = share_seconds
        self._accounts: dict[User, _Account] = {}
        self._busiest = 0.0
        self._busiest_at = float("-inf")
        self._sweep_at = 0.0

    def begin(self, user: User, now: float) -> None:
        """Record that a use begins."""
        account = self._accounts.get(user)
        if account is None:
            account = self._accounts[user] = _Account(at=now)
        account.running += 1
        account.since += now

    def end(
        self, user: User, began: float, now: float, seconds: float | None = None
    ) -> None:
        """Record that a use has ended.

        began: the time that `begin` got. seconds: time to charge; by default all that
        has passed.
        """
        account = self._accounts[user]
        charged = now - began if seconds is None else seconds
        account.running -= 1
        # Exactly 0, so that rounding does not add up over a million uses.
        account.since = account.since - began if account.running else 0.0
        past = account.seconds * 0.5 ** ((now - account.at) / HALF_LIFE_SECONDS)
        account.seconds, account.at = past + charged, now
        self._sweep(now)

    def seconds(self, user: User, now: float) -> float:
        """Return the recent use of a user."""
        account = self._accounts.get(user)
        return 0.0 if account is None else account.used(now)

    def is_above_share(self, user: User, now: float) -> bool:
        """Return whether a user has used more than its share lately: more than any user
        may, and at least a quarter of the use of the busiest one.
        """
        used = self.seconds(user, now)
        if used < self._share_seconds:
            return False
        return used >= self._most_used(now) * _PART_OF_BUSIEST

    def above_share(self, now: float) -> dict[User, float]:
        """Return the users above their share, with their recent seconds."""
        return {
            user: account.used(now)
            for user, account in self._accounts.items()
            if self.is_above_share(user, now)
        }

    def _most_used(self, now: float) -> float:
        if now - self._busiest_at >= _BUSIEST_FOR_SECONDS:
            used = (account.used(now) for account in self._accounts.values())
            self._busiest = max(used, default=0.0)
            self._busiest_at = now
        return self._busiest

    def _sweep(self, now: float) -> None:
        """Drop users that have used next to nothing, once per half-life."""
        if now < self._sweep_at:
            return
        self._sweep_at = now + HALF_LIFE_SECONDS
        self._accounts = {
            user: account
            for user, account in self._accounts.items()
            if account.running or account.used(now) >= _FORGOTTEN_SECONDS
        }
