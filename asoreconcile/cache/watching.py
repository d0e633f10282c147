"""One watch, followed to its end. Blocking, on the reflector's thread.

Rules: RF-8, RF-13.
"""

from collections.abc import Callable, Iterator

import attrs

from asoreconcile.cache.initial_list import InactivityTimer
from asoreconcile.cache.resume_point import is_before
from asoreconcile.cache.watch_errors import BehindError, VeryShortWatchError
from asoreconcile.clock import Clock
from asoreconcile.kube.errors import DecodeError, TransportError
from asoreconcile.kube.watch import WatchStream
from asoreconcile.objects import JsonObject, resource_version

_VERY_SHORT_SECONDS = 1.0
# Servers that send bookmarks do so once a minute, and a second or two.
_DEAD_SECONDS = 70.0


@attrs.frozen
class Watch:
    """An open watch.

    events: its only iterator. began: monotonic seconds. since: the version that it goes
    on from. taken: how much of it has been, as the state.
    """

    stream: WatchStream
    events: Iterator[tuple[str, JsonObject]]
    began: float
    since: str
    taken: int = 0

    def follow(
        self, take: Callable[[str, JsonObject], None], *, clock: Clock
    ) -> TransportError | None:
        """Give `take` each event; why the watch broke, or None if it was ended.

        Raises what `take` raises, DecodeError, BehindError for a server that has not
        got as far as we have, and VeryShortWatchError.
        """
        broken: TransportError | None = None
        silence: InactivityTimer | None = None
        events = self.taken
        try:
            for type_, obj in self.events:
                events += 1
                if type_ == "BOOKMARK":
                    self._check_not_behind(obj)
                take(type_, obj)
                if silence is not None:
                    silence.heard()
                elif type_ == "BOOKMARK":
                    # From here on, silence means that nobody is there any more.
                    silence = InactivityTimer(
                        clock, self.stream.close, seconds=_DEAD_SECONDS
                    )
        except DecodeError:
            raise
        except TransportError as error:
            broken = error
        finally:
            if silence is not None:
                silence.cancel()
        if not events and clock.monotonic() - self.began < _VERY_SHORT_SECONDS:
            reason = broken or "without any event"
            raise VeryShortWatchError(f"the watch ended at once: {reason}") from broken
        return broken

    def _check_not_behind(self, bookmark: JsonObject) -> None:
        if is_before(resource_version(bookmark), self.since):
            raise BehindError("the server is behind what it told before")
