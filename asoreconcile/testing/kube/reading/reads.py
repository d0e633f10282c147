"""Reads: one object, lists in pages, and the form of the answer.

A page's token contains the version of the first page, and later pages are read at that
version, so all pages together are one snapshot. If that version is forgotten, the
refusal has a token that continues from the same place in the present state.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject, ObjectKey
from asoreconcile.testing.kube.kinds import versions
from asoreconcile.testing.kube.kinds.resources import RestResource
from asoreconcile.testing.kube.reading import listing
from asoreconcile.testing.kube.reading.printing import columns, partial, row
from asoreconcile.testing.kube.reading.selectors import selected
from asoreconcile.testing.kube.store.storage import Storage
from asoreconcile.testing.kube.wire.status import expired, not_found, version_too_large

_PAGE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter, or use the continue "
    "token in this response to retrieve the remainder of the results. Continuing with "
    "the provided token results in an inconsistent list - objects that were created, "
    "modified, or deleted between the time the first chunk was returned and now may "
    "show up in the list."
)
ReadForm = Literal["whole", "metadata", "table"]
FORMS: Mapping[str, ReadForm] = {
    "Table": "table",
    "PartialObjectMetadata": "metadata",
    "PartialObjectMetadataList": "metadata",
}


@attrs.frozen
class ObjectRenderer:
    """The form in which one client sees the objects of a resource.

    rows: the part of an object in a Table's row: Metadata, Object or None.
    version: version of meta.k8s.io, for forms other than the whole object.
    """

    resource: RestResource
    form: ReadForm
    clock: Clock
    rows: str = "Metadata"
    version: str = "meta.k8s.io/v1"

    def one(self, obj: JsonObject) -> JsonObject:
        """Return an object at the requested version."""
        shown = versions.shown(self.resource, obj)
        if self.form == "metadata":
            return partial(shown, self.version)
        if self.form == "table":
            meta = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
            return self._table([shown if self.resource.is_custom else obj], meta)
        return shown

    def many(self, objects: Sequence[JsonObject], meta: JsonObject) -> JsonObject:
        """Return a list.

        meta: its resourceVersion and continue token.
        """
        # A real server converts what it reads, whatever form the client asks for.
        items = versions.shown_all(self.resource, objects)
        if self.form == "table":
            # The columns of built-in kinds are made from the stored form.
            return self._table(items if self.resource.is_custom else objects, meta)
        kind, version = f"{self.resource.kind}List", self.resource.api_version
        if self.form == "metadata":
            kind, version = "PartialObjectMetadataList", self.version
            items = [partial(obj, self.version) for obj in items]
        elif self.resource.is_custom:
            meta = {"continue": ""} | meta
        else:  # the list states their kind
            items = [
                {k: v for k, v in obj.items() if k not in ("kind", "apiVersion")}
                for obj in items
            ]
        return {"kind": kind, "apiVersion": version, "metadata": meta, "items": items}

    def bookmark(self, version: int, notes: JsonObject) -> JsonObject:
        """Return the object of a BOOKMARK event."""
        meta: JsonObject = {"resourceVersion": str(version)}
        if not self.resource.is_custom or self.form == "metadata":
            meta["creationTimestamp"] = None
        if notes:
            meta["annotations"] = notes
        obj: JsonObject = {
            "kind": self.resource.kind,
            "apiVersion": self.resource.api_version,
            "metadata": meta,
        }
        if self.form == "table":
            table = self._table([], {"resourceVersion": str(version)})
            return {
                **table,
                "rows": [{"cells": [], "object": partial(obj, self.version)}],
            }
        return partial(obj, self.version) if self.form == "metadata" else obj

    def _held(self, obj: JsonObject) -> JsonObject | None:
        """Return the part of the object in a Table's row."""
        if self.rows == "None":
            return None
        return obj if self.rows == "Object" else partial(obj, self.version)

    def _table(self, objects: Sequence[JsonObject], meta: JsonObject) -> JsonObject:
        now = self.clock.now()
        return {
            "kind": "Table",
            "apiVersion": self.version,
            "metadata": meta,
            "columnDefinitions": columns(self.resource),
            "rows": [row(self.resource, one, now, self._held(one)) for one in objects],
        }


class Reads:
    """The answers to GETs. Raises StatusError."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def get(
        self, resource: RestResource, key: ObjectKey, query: Mapping[str, str]
    ) -> JsonObject:
        """Return the stored object, not a copy.

        Raises StatusError 404 if there is none, and 504 if `resourceVersion` lies in
        the future.
        """
        if (wanted := query.get("resourceVersion", "")) not in ("", "0"):
            self._check_reached(listing.parse_version(wanted))
        obj = self._storage.get(resource.table, key)
        if obj is None:
            raise not_found(resource.plural, resource.group, key.name)
        return obj

    def page(
        self, namespace: str, query: Mapping[str, str], renderer: ObjectRenderer
    ) -> JsonObject:
        """Return a list, or one page of it."""
        found, meta = self._page(namespace, query, renderer.resource)
        return renderer.many([obj for _, obj in found], meta)

    def keys(
        self, namespace: str, query: Mapping[str, str], resource: RestResource
    ) -> list[ObjectKey]:
        """Return the keys of the objects that a list would show."""
        return [key for key, _ in self._page(namespace, query, resource)[0]]

    def _page(
        self, namespace: str, query: Mapping[str, str], resource: RestResource
    ) -> tuple[list[tuple[ObjectKey, JsonObject]], JsonObject]:
        labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
        matches = selected(labels, fields, resource)
        start, limit = listing.list_start(query), listing.number(query, "limit")
        version, objects = self._snapshot(resource, start)
        chosen = [
            (key, obj)
            for key, obj in objects
            if (not namespace or key.namespace == namespace)
            and (start.after is None or key > start.after)
            and matches(obj)
        ]
        meta: JsonObject = {"resourceVersion": str(version)}
        if 0 < limit < len(chosen):
            meta["continue"] = listing.token_after(version, chosen[limit - 1][0])
            if not labels and not fields:
                meta["remainingItemCount"] = len(chosen) - limit
            chosen = chosen[:limit]
        return chosen, meta

    def _snapshot(
        self, resource: RestResource, start: listing.Start
    ) -> tuple[int, list[tuple[ObjectKey, JsonObject]]]:
        """Return a version, and all objects at that version."""
        if start.version is not None:
            self._check_reached(start.version)
        with self._storage.lock:
            now = self._storage.version
            version = start.version if start.exact and start.version else now
            objects = self._storage.items_at(resource.table, version)
        if objects is None:
            if start.after is not None:
                token = listing.token_after(listing.ANY_VERSION, start.after)
                raise expired(_PAGE_TOO_OLD, continue_=token)
            raise expired("The resourceVersion for the provided list is too old.")
        return version, objects

    def _check_reached(self, version: int) -> None:
        if version > (now := self._storage.version):
            raise version_too_large(version, now)
