"""An object made ours a moment ago, whose next reconcile is the one that begins it.

In memory only; losing it costs one read.
"""

import attrs

from asoreconcile.objects import JsonObject, resource_version

# Time for a worker to be free again, and less than another process needs to have the
# resource deleted in Azure and let the object go.
AS_WRITTEN_SECONDS = 0.25


@attrs.define(eq=False)
class RecentWrites:
    """What our own write of one object was answered. For its reconciles alone.

    at: when the answer had come (`Clock.monotonic` seconds); None: nothing is recorded.
    """

    resource_version: str = ""
    at: float | None = None

    def note(self, obj: JsonObject, *, at: float) -> None:
        """obj: the API server's answer, come by `at` (`Clock.monotonic` seconds)."""
        self.resource_version, self.at = resource_version(obj), at

    def is_as_written(self, obj: JsonObject, *, now: float) -> bool:
        """Whether an object is the answer of our own write of a moment ago: asking for
        it would show no more.
        """
        return (
            self.at is not None
            and now - self.at <= AS_WRITTEN_SECONDS
            and self.resource_version == resource_version(obj)
        )

    def end(self) -> bool:
        """The reconcile that begins it was made; whether it was recorded."""
        was_noted, self.at = self.at is not None, None
        return was_noted
