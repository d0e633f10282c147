"""Remembers a claim of a moment ago, so that the next reconcile needs no extra read.

In memory only; losing it costs one read.
"""

import attrs

from asoreconcile.base.objects import JsonObject, resource_version

# Long enough for a worker to become free, and shorter than another process needs to
# delete the resource in Azure and release the object.
AS_WRITTEN_SECONDS = 0.25


@attrs.define(eq=False)
class RecentWrites:
    """The answer to our last write of an object. Only for the object's reconcile.

    at: when the answer had come (`Clock.monotonic` seconds); None: nothing is recorded.
    """

    resource_version: str = ""
    at: float | None = None

    def note(self, obj: JsonObject, *, at: float) -> None:
        """obj: the API server's answer, received by `at` (`Clock.monotonic`
        seconds).
        """
        self.resource_version, self.at = resource_version(obj), at

    def is_as_written(self, obj: JsonObject, *, now: float) -> bool:
        """Whether an object is the answer to our own write of a moment ago, so that a
        GET would show nothing new.
        """
        return (
            self.at is not None
            and now - self.at <= AS_WRITTEN_SECONDS
            and self.resource_version == resource_version(obj)
        )

    def end(self) -> bool:
        """Forget the write after the next reconcile; whether one was recorded."""
        was_noted, self.at = self.at is not None, None
        return was_noted
