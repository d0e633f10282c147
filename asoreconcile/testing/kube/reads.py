"""Reading: one object, lists in pages, and how the answer is dressed.

A page's token holds the version its list began at, and later pages are read at that
version, so a list in pages is one snapshot.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Literal

import attrs
import orjson

from asoreconcile.clock import Clock
from asoreconcile.objects import JsonObject, ObjectKey
from asoreconcile.testing.kube.kinds import Resource
from asoreconcile.testing.kube.printing import columns, partial, row
from asoreconcile.testing.kube.selectors import Matches, selected
from asoreconcile.testing.kube.status import (
    Cause,
    bad_request,
    expired,
    invalid,
    not_found,
    version_too_large,
)
from asoreconcile.testing.kube.storage import Storage

Form = Literal["whole", "metadata", "table"]


@attrs.frozen
class Dress:
    """How objects of a resource are shown to one client."""

    resource: Resource
    form: Form
    clock: Clock

    def one(self, obj: JsonObject) -> JsonObject:
        """An object at the version that was asked for."""
        if self.form == "metadata":
            return partial(obj)
        if self.form == "table":
            return self._table([obj], {})
        resource = self.resource
        if obj["apiVersion"] == resource.api_version:
            return obj
        return {**obj, "apiVersion": resource.api_version, "kind": resource.kind}

    def many(self, objects: Sequence[JsonObject], meta: JsonObject) -> JsonObject:
        """A list. meta: its resourceVersion, and continue."""
        if self.form == "table":
            return self._table(objects, meta)
        kind, version = f"{self.resource.kind}List", self.resource.api_version
        if self.form == "metadata":
            kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
        items = [self.one(obj) for obj in objects]
        return {"kind": kind, "apiVersion": version, "metadata": meta, "items": items}

    def bookmark(self, version: int, notes: JsonObject) -> JsonObject:
        """The object of a BOOKMARK event."""
        meta: JsonObject = {"resourceVersion": str(version), "creationTimestamp": None}
        if notes:
            meta["annotations"] = notes
        obj: JsonObject = {
            "kind": self.resource.kind,
            "apiVersion": self.resource.api_version,
            "metadata": meta,
        }
        if self.form == "table":
            return {**self._table([], {"resourceVersion": str(version)})}
        return partial(obj) if self.form == "metadata" else obj

    def _table(self, objects: Sequence[JsonObject], meta: JsonObject) -> JsonObject:
        now = self.clock.now()
        if not meta and objects:
            meta = {"resourceVersion": objects[0]["metadata"]["resourceVersion"]}
        return {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": meta,
            "columnDefinitions": columns(self.resource),
            "rows": [row(self.resource, obj, now) for obj in objects],
        }


def form_of(accept: str) -> Form:
    """Which form an Accept header asks for first."""
    for choice in accept.split(","):
        if "as=PartialObjectMetadata" in choice:
            return "metadata"
        if "as=Table" in choice:
            return "table"
        if "json" in choice and "as=" not in choice:
            return "whole"
    return "whole"


class Reads:
    """Answers GETs. Raises StatusError for what cannot be answered."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def get(self, resource: Resource, key: ObjectKey) -> JsonObject:
        obj = self._storage.get(resource.table, key)
        if obj is None:
            raise not_found(resource.plural, resource.group, key.name)
        return obj

    def page(
        self, namespace: str, query: Mapping[str, str], dress: Dress
    ) -> JsonObject:
        """A list, or one page of it."""
        resource = dress.resource
        matches = selected(
            query.get("labelSelector", ""),
            query.get("fieldSelector", ""),
            resource.kind,
        )
        after, version = self._start(resource, query)
        objects = self._storage.items_at(resource.table, version)
        if objects is None:
            raise expired("The provided continue parameter is too old")
        chosen = [
            (key, obj)
            for key, obj in objects
            if (not namespace or key.namespace == namespace)
            and (after is None or key > after)
            and matches(obj)
        ]
        limit = _limit(query)
        meta: JsonObject = {"resourceVersion": str(version)}
        if limit and len(chosen) > limit:
            last = chosen[limit - 1][0]
            meta["continue"] = _token(version, last)
            meta["remainingItemCount"] = len(chosen) - limit
            chosen = chosen[:limit]
        return dress.many([obj for _, obj in chosen], meta)

    def _start(
        self, resource: Resource, query: Mapping[str, str]
    ) -> tuple[ObjectKey | None, int]:
        """After which key to go on, and at which version to read."""
        token = query.get("continue", "")
        wanted, match = (
            query.get("resourceVersion", ""),
            query.get("resourceVersionMatch", ""),
        )
        current = self._storage.version
        if token:
            return _parse_token(token)
        if match and not wanted:
            cause = Cause(
                "resourceVersionMatch",
                "FieldValueForbidden",
                "Forbidden: resourceVersionMatch is forbidden unless resourceVersion "
                "is provided",
            )
            raise invalid("ListOptions", "meta.k8s.io", "", [cause])
        if not wanted or wanted == "0":
            return None, current
        try:
            version = int(wanted)
        except ValueError as error:
            raise bad_request(f"invalid resource version {wanted!r}") from error
        if version > current:
            raise version_too_large(version, current)
        if match != "Exact":
            return None, current
        if self._storage.is_forgotten(resource.table, version):
            raise expired(
                f"The resourceVersion for the provided list is too old: {wanted}"
            )
        return None, version

    def chosen(
        self, resource: Resource, namespace: str, matches: Matches
    ) -> list[ObjectKey]:
        """The keys of what selectors choose now; for deleting collections."""
        return [
            key
            for key, obj in self._storage.items(resource.table)
            if (not namespace or key.namespace == namespace) and matches(obj)
        ]


def _limit(query: Mapping[str, str]) -> int:
    text = query.get("limit", "") or "0"
    try:
        return max(0, int(text))
    except ValueError as error:
        raise bad_request(f"invalid limit {text!r}") from error


def _token(version: int, last: ObjectKey) -> str:
    content = orjson.dumps([version, last.namespace, last.name])
    return base64.urlsafe_b64encode(content).decode()


def _parse_token(token: str) -> tuple[ObjectKey, int]:
    try:
        version, namespace, name = orjson.loads(base64.urlsafe_b64decode(token))
        return ObjectKey(str(namespace), str(name)), int(version)
    except (binascii.Error, ValueError, TypeError) as error:
        raise bad_request("continue key is not valid") from error
