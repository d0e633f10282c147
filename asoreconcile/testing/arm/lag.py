"""Reads that lag behind writes: for a while a GET shows what was there before."""

import attrs

from asoreconcile.clock import Clock
from asoreconcile.objects import JsonObject


@attrs.frozen
class Before:
    """body: as it was shown before the write; None when nothing was there."""

    body: JsonObject | None
    until: float


class Lag:
    """What reads still show. The caller holds the server's lock."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.seconds = seconds
        self._clock = clock
        self._before: dict[str, Before] = {}

    def note_write(self, key: str, body: JsonObject | None) -> None:
        """body: what a read shows now, just before the write."""
        if self.seconds > 0 and self.shown(key) is None:
            self._before[key] = Before(body, self._clock.monotonic() + self.seconds)

    def shown(self, key: str) -> Before | None:
        """What a read shows in place of what is there; None when it shows that."""
        before = self._before.get(key)
        if before is None or self._clock.monotonic() < before.until:
            return before
        del self._before[key]
        return None

    def all_shown(self) -> dict[str, Before]:
        """By id in lower case: all that reads show in place of what is there."""
        shown = {key: self.shown(key) for key in list(self._before)}
        return {key: before for key, before in shown.items() if before is not None}
