"""Checks, strips and transforms an object before it is cached."""

import attrs

from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject, copy_json
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.scope import Transform
from asoreconcile.cache.unreadable import BadObjectError
from asoreconcile.kube.resources import ApiResource

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_PARTIAL = "PartialObjectMetadata"


@attrs.frozen
class EntryTransform:
    """Makes the cache entries of one informer. Rules: IN-10, CA-5, RF-9."""

    resource: ApiResource
    metadata_only: bool = attrs.field(default=False, kw_only=True)
    transform: Transform | None = attrs.field(default=None, kw_only=True)
    # Both are used for each object.
    _api_version: str = attrs.field(init=False)
    _expected: str = attrs.field(init=False)

    @_api_version.default
    def _api_version_of(self) -> str:
        return self.resource.api_version

    @_expected.default
    def _expected_kind(self) -> str:
        return _PARTIAL if self.metadata_only else self.resource.kind

    def entry_of_copy(self, obj: JsonObject) -> Entry:
        """Like `entry`, without changing the object."""
        if self.transform is not None:  # the transform may change anything
            return self.entry(copy_json(obj))
        copied, meta = {**obj}, obj.get("metadata")
        if isinstance(meta, dict):
            copied["metadata"] = meta = {**meta}
            notes = meta.get("annotations")
            if isinstance(notes, dict):
                meta["annotations"] = {**notes}
        return self.entry(copied)

    def entry_of_event(self, obj: JsonObject) -> Entry:
        """Like `entry`; keeps the decoded object for the event's handlers."""
        return self.entry(obj, keep=True)

    def entry(self, obj: JsonObject, *, keep: bool = False) -> Entry:
        """Make the entry of an object, which is changed.

        The object loses fields that readers of a cache do not need, and gets its kind,
        which list items lack. keep: argument of `Entry`.

        Raises BadObjectError if it is not an object of the kind, or if the transform
        fails.
        """
        meta = obj.get("metadata")
        if not isinstance(meta, dict) or not meta.get("name"):
            raise BadObjectError(f"an object of {self.resource.gvk} without a name")
        kind = self.resource.kind
        found = obj.get("kind") or kind
        if found not in (kind, self._expected):
            raise BadObjectError(f"a {found} among {self.resource.plural}")
        if self.metadata_only:
            obj = {"metadata": meta}  # the response of a write is complete
        obj["apiVersion"], obj["kind"] = self._api_version, kind
        # Both are often as large as the rest of the object, and no reconciler reads
        # them.
        meta.pop("managedFields", None)
        notes = meta.get("annotations")
        if isinstance(notes, dict) and _LAST_APPLIED in notes:
            del notes[_LAST_APPLIED]
        try:
            if self.transform is not None:
                obj = self.transform(jsontext.settled(obj))
        except BaseException as error:  # any transform, any object
            raise BadObjectError(f"the transform of {meta['name']}: {error}") from error
        try:
            entry = Entry(obj, keep=keep)
        except Exception as error:  # neither a server nor a transform should send this
            raise BadObjectError(f"no entry of {meta['name']}: {error}") from error
        # All readers expect strings, some as lookup keys; the namespace was already
        # checked.
        texts: tuple[object, ...] = entry.row[1:4]
        name, uid, version = texts
        if isinstance(name, str) and isinstance(uid, str) and isinstance(version, str):
            return entry
        raise BadObjectError(f"the name, uid or version of {name} is no text")
