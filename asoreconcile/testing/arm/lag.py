"""Reads that lag behind writes: for a while, a GET shows the state before the write."""

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject


@attrs.frozen
class Before:
    """The state of a resource before a write.

    body: body that reads showed; None if the resource did not exist.
    """

    body: JsonObject | None
    until: float


class Lag:
    """The outdated states that reads still show. The caller holds the server's lock."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.seconds = seconds
        self._clock = clock
        self._before: dict[str, Before] = {}

    def note_write(
        self, key: str, body: JsonObject | None, seconds: float | None = None
    ) -> None:
        """Record the state just before a write.

        body: body that a read shows now.
        seconds: duration in place of the server's.
        """
        seconds = self.seconds if seconds is None else seconds
        if seconds > 0 and self.shown(key) is None:
            self._before[key] = Before(body, self._clock.monotonic() + seconds)

    def shown(self, key: str) -> Before | None:
        """Return the outdated state that a read shows, or None if reads are
        up to date.
        """
        before = self._before.get(key)
        if before is None or self._clock.monotonic() < before.until:
            return before
        del self._before[key]
        return None

    def all_shown(self) -> dict[str, Before]:
        """Return all outdated states that reads show, by id in lower case."""
        shown = {key: self.shown(key) for key in list(self._before)}
        return {key: before for key, before in shown.items() if before is not None}
