"""Objects that the cache cannot read: skipped, reported, and no trouble of others."""

from collections.abc import Callable, Mapping

import attrs

from asoreconcile import jsontext
from asoreconcile.cache.entry import Entry
from asoreconcile.errors import AsoreconcileError
from asoreconcile.kube.events import EventRecorder
from asoreconcile.kube.resources import ApiResource
from asoreconcile.log import Logger
from asoreconcile.objects import (
    JsonObject,
    ObjectKey,
    generation,
    key_of,
    metadata,
    resource_version,
    status,
    uid_of,
)

_log = Logger(__name__)

REASON = "Unreadable"
"""Of events and conditions about such objects."""


class BadObjectError(AsoreconcileError):
    """An object that the cache cannot take."""


@attrs.frozen
class Unreadable:
    """One object that is not in the cache though the server has it.

    known: what can be read of it: apiVersion, kind, metadata and conditions.
    why: for who wrote the object.
    """

    resource: ApiResource
    key: ObjectKey
    known: JsonObject
    why: str

    @property
    def message(self) -> str:
        """What an event or a condition says of it."""
        return f"This object cannot be read, and is left alone until it can: {self.why}"

    def is_news_after(self, before: "Unreadable | None") -> bool:
        """Whether that has not been reported yet: not for a change of its status."""
        return (
            before is None
            or self.why != before.why
            or uid_of(self.known) != uid_of(before.known)
            or generation(self.known) != generation(before.known)
        )


def known_of(obj: JsonObject, resource: ApiResource) -> JsonObject:
    """What any object says of itself at places that every object has."""
    # No spec: it may be what is broken, and its values are not for events.
    conditions, key = status(obj).get("conditions"), key_of(obj)
    known: JsonObject = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "namespace": key.namespace,
            "name": key.name,
            "uid": uid_of(obj),
            "resourceVersion": resource_version(obj),
        },
    }
    more = {
        "metadata": {
            **{k: v for k, v in metadata(obj).items() if k != "managedFields"},
            **known["metadata"],
        },
        "status": {"conditions": conditions} if isinstance(conditions, list) else {},
    }
    return known | (more if _is_json(more) else {"status": {}})


def _is_json(value: JsonObject) -> bool:
    """Whether it can be written, in an event or a condition (`NoNumber`)."""
    try:
        jsontext.dumps(value)
    except TypeError:
        return False
    return True


ReportUnreadable = Callable[[Unreadable], None]
"""Called with each such object, and again when it changed. On the watch's thread: must
not block, nor raise.
"""


def unreadable_events(recorder: EventRecorder) -> ReportUnreadable:
    """A report that records a Warning event at each object."""

    def report(found: Unreadable) -> None:
        recorder.event(found.known, "Warning", REASON, found.message)

    return report


def unreported(_: Unreadable) -> None:
    """For who is content with the log and `Informer.unreadable`."""


class EntryReader:
    """Makes entries of what one feed reads. On the feed's thread.

    make, make_of_event: of an object of a list, and of an event; raise BadObjectError.
    """

    def __init__(
        self,
        resource: ApiResource,
        make: Callable[[JsonObject], Entry],
        make_of_event: Callable[[JsonObject], Entry],
        report: ReportUnreadable,
    ) -> None:
        self._resource = resource
        self._make = make
        self._make_of_event = make_of_event
        self._report = report
        self._listed: dict[ObjectKey, Unreadable] = {}
        self.bad: Mapping[ObjectKey, Unreadable] = {}
        """What cannot be read now; a new mapping with each change."""

    def entry(self, obj: JsonObject) -> Entry | None:
        """Of an object of the state; None if it cannot be read."""
        try:
            return self._make(obj)
        except BadObjectError as error:
            found = self._unreadable(obj, error)
        if found is not None:
            self._listed[found.key] = found
        return None

    def replaced(self) -> None:
        """The state was taken: what was skipped on its way is what is bad now."""
        found, self._listed = self._listed, {}
        self._take(found)

    def event(self, type_: str, obj: JsonObject) -> Entry | None:
        """Of an object in a watch's event; None if it cannot be read."""
        try:
            made = self._make_of_event(obj)
        except BadObjectError as error:
            found = self._unreadable(obj, error)
        else:
            if not self.bad:  # most often; each event comes by here
                return made
            self._replace_one(key_of(obj), None)
            return made
        self._replace_one(key_of(obj), None if type_ == "DELETED" else found)
        return None

    def _replace_one(self, key: ObjectKey, found: Unreadable | None) -> None:
        """Show what is known of one object now, and no longer what was known of it."""
        # A copy: other threads read the one that is shown, without a lock.
        bad = dict(self.bad)
        bad.pop(key, None)
        if found is not None:
            bad[key] = found
        if bad or self.bad:
            self._take(bad)

    def _take(self, found: Mapping[ObjectKey, Unreadable]) -> None:
        """Show what is bad now; then report what is new of it, for who looks then."""
        before, self.bad = self.bad, found
        for key, one in found.items():
            if one.is_news_after(before.get(key)):
                self._report(one)

    def _unreadable(self, obj: JsonObject, error: BadObjectError) -> Unreadable | None:
        """What to report of an object; None: not even its name is known."""
        key, why = key_of(obj), str(error)
        _log.warning(
            "Skipping object",
            kind=str(self._resource.gvk),
            object=str(key),
            reason=why,
        )
        if not key.name:
            return None
        return Unreadable(self._resource, key, known_of(obj, self._resource), why)
