"""What the cache keeps of an object: a small header and exact-size JSON bytes.

A dict costs 11-22 KB an object and makes every garbage collection walk it; the header
with its bytes costs 3 KB and is walked once (runtime-semantics section 12). Headers
answer most questions (version, generation, labels, owners, deletion) undecoded; a
reader that wants the whole object decodes a private copy.
"""

from collections.abc import Mapping
from sys import intern
from typing import cast

import orjson

from asoreconcile.objects import JsonObject, ObjectKey


class Entry:
    """One cached object. Immutable; safe to share between threads."""

    __slots__ = (
        "_bytes",
        "annotations",
        "deleting",
        "finalizers",
        "generation",
        "key",
        "labels",
        "resource_version",
        "uid",
    )

    def __init__(self, obj: JsonObject) -> None:
        """Take an object's content; `obj` is not kept."""
        meta = obj["metadata"]
        self.key = ObjectKey(intern(meta.get("namespace") or ""), meta["name"])
        self.uid: str = meta.get("uid") or ""
        self.resource_version: str = meta.get("resourceVersion") or ""
        self.generation: int = meta.get("generation") or 0
        self.deleting = bool(meta.get("deletionTimestamp"))
        self.finalizers: tuple[str, ...] = _shared(meta.get("finalizers"))
        self.labels: Mapping[str, str] = _interned(meta.get("labels"))
        self.annotations: Mapping[str, str] = _interned(meta.get("annotations"))
        # orjson's result keeps three times its size as a growth buffer: copy exactly.
        self._bytes = bytes(memoryview(orjson.dumps(obj)))

    def load(self) -> JsonObject:
        """A private copy of the object: the caller may change it."""
        return cast("JsonObject", orjson.loads(self._bytes))

    @property
    def size_bytes(self) -> int:
        return len(self._bytes)


_NOTHING: Mapping[str, str] = {}
# A cluster has a handful of different lists of finalizers, and thousands of each.
_MAX_LISTS = 1000
_LISTS: dict[tuple[str, ...], tuple[str, ...]] = {}


def _shared(values: list[str] | None) -> tuple[str, ...]:
    if not values:
        return ()
    made = tuple(values)
    if len(_LISTS) >= _MAX_LISTS:
        return _LISTS.get(made, made)
    return _LISTS.setdefault(made, made)


def _interned(values: dict[str, str] | None) -> Mapping[str, str]:
    if not values:
        return _NOTHING
    return {intern(key): value for key, value in values.items()}
