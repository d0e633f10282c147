"""Read objects in the version of their authors, whatever version the cluster stores.

A kind with several versions is watched and written in its stored form, which the API
server reads and writes without calling the conversion webhook. All other code uses the
version that the user wrote: its tables, its api-version, its names.
"""

from functools import lru_cache
from typing import Protocol

import attrs

from asoreconcile.azure.catalogue.conversion import (
    KindConversionError,
    as_authored,
    convert,
    stored_name,
)
from asoreconcile.azure.catalogue.kinds import Kind, KindVersion
from asoreconcile.base.objects import GroupKind, JsonObject, gvk_of, metadata, status


class StorageCodec(Protocol):
    """Converts between stored objects of a kind and their authors' versions. Pure; any
    thread.
    """

    @property
    def group_kind(self) -> GroupKind:
        """The kind, for any version."""

    def read(self, obj: JsonObject) -> JsonObject:
        """Return a stored object in its author's version. May raise
        KindConversionError.
        """

    def version(self, obj: JsonObject) -> KindVersion:
        """Return the version of an object that `read` returned."""

    def status(self, obj: JsonObject) -> JsonObject:
        """Return the status of such an object in the form to store."""


@attrs.frozen
class SingleVersionCodec:
    """A codec for a kind that is stored in the one version that users write."""

    only: KindVersion

    @property
    def group_kind(self) -> GroupKind:
        """The kind without its version."""
        return self.only.group_kind

    def read(self, obj: JsonObject) -> JsonObject:
        """Return the object itself: it is stored as its author wrote it."""
        return obj

    def version(self, obj: JsonObject) -> KindVersion:  # noqa: ARG002 - a VersionForm's
        """Return the one version."""
        return self.only

    def status(self, obj: JsonObject) -> JsonObject:
        """Return the object's own status, not a copy."""
        return status(obj)


@attrs.frozen
class HubVersionCodec:
    """A codec for a kind with several versions. kept_as: name of the stored form."""

    kind: Kind
    kept_as: str

    @property
    def group_kind(self) -> GroupKind:
        """The kind, over all its versions."""
        return self.kind.group_kind

    def read(self, obj: JsonObject) -> JsonObject:
        """Return the object as `as_authored`. Raises KindConversionError."""
        return as_authored(self.kind, obj)

    def version(self, obj: JsonObject) -> KindVersion:
        """Return the version in the object's `apiVersion`.

        Raises UnknownVersionError if the kind does not have it.
        """
        return self.kind.version(gvk_of(obj).version)

    def status(self, obj: JsonObject) -> JsonObject:
        """Return the status in stored form; status fields that this version lacks are
        dropped.
        """
        names = {
            name: value
            for name, value in metadata(obj).items()
            if name in ("name", "namespace")
        }
        # Without the spec and the annotations: only the status is converted, without
        # the values that they carry.
        bare = {**obj, "metadata": names, "spec": {}, "status": status(obj)}
        return status(convert(self.kind, bare, self.kept_as))


def storage_codec_of(version: KindVersion, kind: Kind) -> StorageCodec:
    """Return the codec of a kind that the cluster serves as `version`."""
    if not version.kept_as:
        return SingleVersionCodec(version)
    return HubVersionCodec(kind, version.kept_as)


@lru_cache(maxsize=1024)
def kept_stored(kind: Kind, kept_as: str = "") -> KindVersion:
    """Return the kind's version for a cluster that keeps objects in a stored form.

    kept_as: the stored form of another version, if an older release made the CRD; ""
    means the kind's own.

    Always returns the same object for the same arguments, as `Catalogue.version` does.
    """
    return attrs.evolve(kind.version(), kept_as=kept_as or stored_name(kind))


def as_far_as_readable(
    form: StorageCodec, version: KindVersion, stored: JsonObject
) -> tuple[KindVersion, JsonObject]:
    """Return a stored object in its author's version; if it cannot be converted, return
    it as it is stored, with the given version: its annotations still say what it has
    claimed. Pure.
    """
    try:
        obj = form.read(stored)
    except KindConversionError:  # its own reconcile reports it
        return version, stored
    return form.version(obj), obj
