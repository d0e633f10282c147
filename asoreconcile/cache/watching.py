"""Follows one watch to its end, in steps.

Rules: RF-8, RF-13.
"""

from collections.abc import Callable, Iterator

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.coroutines import Coroutine
from asoreconcile.base.objects import JsonObject, resource_version
from asoreconcile.cache.initial_list import InactivityTimer
from asoreconcile.cache.resume_point import is_before
from asoreconcile.cache.watch_errors import BehindError, VeryShortWatchError
from asoreconcile.kube.errors import DecodeError, TransportError
from asoreconcile.kube.watch import WatchStream

# A shorter watch without events: a server or proxy cuts watches off, and reopening at
# once would be a busy loop.
_VERY_SHORT_SECONDS = 1.0
# A kube-apiserver sends bookmarks a minute apart, by a timer that looks each second or
# second and a quarter: 59 to 62 s. More often none comes, so this is the least there is
# without asking for more.
DEAD_SECONDS = 63.0


@attrs.define
class BookmarkSupport:
    """The knowledge whether silence on a kind's watches means a dead connection.

    It does once the server has sent a bookmark, on later watches from their start. A
    restarted server may send no bookmark before the kind changes. So after a watch that
    was given up without a bookmark, silence counts on the next watch only after its
    first bookmark: a false alarm costs one request, and does not repeat.
    """

    expected: bool = False


@attrs.frozen
class OpenWatch:
    """An open watch.

    events: its only iterator. began: monotonic seconds. since: the version it starts
    from. taken: number of events that were already consumed as the initial list.
    """

    stream: WatchStream
    events: Iterator[tuple[str, JsonObject] | None]
    began: float
    since: str
    taken: int = 0

    def follow(
        self,
        take: Callable[[str, JsonObject], None],
        *,
        clock: Clock,
        bookmarks: BookmarkSupport,
        last_activity: Callable[[], float],
    ) -> Coroutine[TransportError | None]:
        """Pass each event to `take`. Returns the error if the watch broke, or None if
        it ended normally.

        bookmarks: the kind's bookmark support, kept up to date. last_activity:
        when `take` was last called, in the clock's seconds.

        Raises the exceptions of `take`, DecodeError, BehindError if the server has not
        reached the watch's version, and VeryShortWatchError.
        """
        broken: TransportError | None = None
        inactivity = self._timer(clock, last_activity) if bookmarks.expected else None
        events, bookmarked = self.taken, False
        try:
            for event in self.events:
                if event is None:
                    yield None
                    continue
                type_, obj = event
                events += 1
                if type_ == "BOOKMARK":
                    self._check_not_behind(obj)
                    bookmarks.expected = bookmarked = True
                take(type_, obj)
                del event, obj  # as `WatchStream.polled` does, and why
                if bookmarked and inactivity is None:
                    inactivity = self._timer(clock, last_activity)
        # Also a TransportError, but resuming from here would not fix it.
        except DecodeError:
            raise
        except TransportError as error:
            broken = error
        finally:
            if inactivity is not None and inactivity.cancel() and not bookmarked:
                bookmarks.expected = False
        if not events and clock.monotonic() - self.began < _VERY_SHORT_SECONDS:
            reason = broken or "without any event"
            raise VeryShortWatchError(f"the watch ended at once: {reason}") from broken
        return broken

    def _timer(
        self, clock: Clock, last_activity: Callable[[], float]
    ) -> InactivityTimer:
        return InactivityTimer(
            clock,
            self.stream.close,
            seconds=DEAD_SECONDS,
            last_activity=last_activity,
        )

    def _check_not_behind(self, bookmark: JsonObject) -> None:
        if is_before(resource_version(bookmark), self.since):
            raise BehindError(
                f"the server is at version {resource_version(bookmark)}, and "
                f"{self.since} was seen already: another replica answers, or "
                "etcd was restored"
            )
