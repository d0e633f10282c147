"""Objects that the cache cannot read: they are skipped and reported, without affecting
others.
"""

from collections.abc import Callable, Mapping

import attrs

from asoreconcile.base import jsontext
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    generation,
    key_of,
    metadata,
    resource_version,
    status,
    uid_of,
)
from asoreconcile.cache.entry import Entry
from asoreconcile.kube.events import EventRecorder
from asoreconcile.kube.resources import ApiResource

_log = Logger(__name__)

REASON = "Unreadable"
"""The reason of events and conditions about such objects."""


class BadObjectError(AsoreconcileError):
    """An object that the cache cannot store."""


@attrs.frozen
class Unreadable:
    """An object on the server that the cache leaves out.

    known: readable parts of the object: apiVersion, kind, metadata and conditions. why:
    the reason, for the author of the object.
    """

    resource: ApiResource
    key: ObjectKey
    known: JsonObject
    why: str

    @property
    def message(self) -> str:
        """The message of an event or a condition."""
        return f"This object cannot be read, and is left alone until it can: {self.why}"

    def is_news_after(self, before: "Unreadable | None") -> bool:
        """Return whether this must be reported after an earlier report; a change of
        only the status must not.
        """
        return (
            before is None
            or self.why != before.why
            or uid_of(self.known) != uid_of(before.known)
            or generation(self.known) != generation(before.known)
        )


def known_of(obj: JsonObject, resource: ApiResource) -> JsonObject:
    """Return the readable parts common to all objects."""
    # No spec: it may be the broken part, and its values do not belong in events.
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
    """Return whether a value can be serialized for an event or a condition
    (`NoNumber`).
    """
    try:
        jsontext.dumps(value)
    except TypeError:
        return False
    return True


ReportUnreadable = Callable[[Unreadable], None]
"""Called with each such object, and again when it changed. Runs on the watch's thread:
must not block or raise.
"""


def unreadable_events(recorder: EventRecorder) -> ReportUnreadable:
    """Return a report function that records a Warning event on each object."""

    def report(found: Unreadable) -> None:
        recorder.event(found.known, "Warning", REASON, found.message)

    return report


def unreported(_: Unreadable) -> None:
    """Report nothing. The log and `Informer.unreadable` still show the objects."""


@attrs.define(eq=False)
class EntryReader:
    """Makes the entries of one feed. For use on the feed's thread.

    make: function that makes the entry of a listed object. make_of_event: the same for
    the object of an event. Both raise BadObjectError. bad: the currently unreadable
    objects; a new mapping with each change.
    """

    _resource: ApiResource
    _make: Callable[[JsonObject], Entry]
    _make_of_event: Callable[[JsonObject], Entry]
    _report: ReportUnreadable
    _listed: dict[ObjectKey, Unreadable] = attrs.field(init=False, factory=dict)
    bad: Mapping[ObjectKey, Unreadable] = attrs.field(init=False, factory=dict)

    def entry(self, obj: JsonObject) -> Entry | None:
        """Return the entry of a listed object; None if it cannot be read."""
        try:
            return self._make(obj)
        except BadObjectError as error:
            found = self._unreadable(obj, error)
        if found is not None:
            self._listed[found.key] = found
        return None

    def replaced(self) -> None:
        """Record the end of a list: the objects skipped in it are the unreadable
        ones.
        """
        found, self._listed = self._listed, {}
        self._take(found)

    def event(self, type_: str, obj: JsonObject) -> Entry | None:
        """Return the entry of a watch event's object; None if it cannot be read."""
        try:
            made = self._make_of_event(obj)
        except BadObjectError as error:
            found = self._unreadable(obj, error)
        else:
            if not self.bad:  # the usual case, for each event
                return made
            self._replace_one(key_of(obj), None)
            return made
        self._replace_one(key_of(obj), None if type_ == "DELETED" else found)
        return None

    def _replace_one(self, key: ObjectKey, found: Unreadable | None) -> None:
        """Replace the record of one object."""
        # A copy: other threads read the published mapping without a lock.
        bad = dict(self.bad)
        bad.pop(key, None)
        if found is not None:
            bad[key] = found
        if bad or self.bad:
            self._take(bad)

    def _take(self, found: Mapping[ObjectKey, Unreadable]) -> None:
        """Publish the unreadable objects; then report the new ones."""
        before, self.bad = self.bad, found
        for key, one in found.items():
            if one.is_news_after(before.get(key)):
                self._report(one)

    def _unreadable(self, obj: JsonObject, error: BadObjectError) -> Unreadable | None:
        """Return the report about an object; None if even its name is unknown."""
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
