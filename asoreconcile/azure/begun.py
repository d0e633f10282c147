"""Objects made ours a moment ago, whose next pass is the one that begins them.

In memory only; losing it costs one read.
"""

import threading

import attrs

from asoreconcile.objects import JsonObject, ObjectKey, key_of, resource_version, uid_of

# Time for a worker to be free again, and less than another process needs to have the
# resource deleted in Azure and let the object go.
AS_WRITTEN_SECONDS = 0.25


@attrs.frozen
class _Written:
    uid: str
    resource_version: str
    at: float


class Begun:
    """key -> what our own write of it was answered. Safe from any thread."""

    def __init__(self) -> None:
        self._written: dict[ObjectKey, _Written] = {}
        self._lock = threading.Lock()

    def note(self, obj: JsonObject, *, at: float) -> None:
        """obj: the API server's answer, come by `at` (`Clock.monotonic` seconds)."""
        written = _Written(uid_of(obj), resource_version(obj), at)
        with self._lock:
            self._written[key_of(obj)] = written

    def is_as_written(self, obj: JsonObject, *, now: float) -> bool:
        """Whether an object is the answer of our own write of a moment ago: asking for
        it would tell no more.
        """
        with self._lock:
            written = self._written.get(key_of(obj))
        return (
            written is not None
            and now - written.at <= AS_WRITTEN_SECONDS
            and (written.uid, written.resource_version)
            == (uid_of(obj), resource_version(obj))
        )

    def end(self, key: ObjectKey) -> bool:
        """The pass that begins it was made, or it is gone; whether it was noted."""
        with self._lock:
            return self._written.pop(key, None) is not None
