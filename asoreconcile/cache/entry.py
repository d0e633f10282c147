"""The cache entry of an object: a few header fields and its JSON as bytes.

A dict costs 11-22 KB per object, and every garbage collection walks it. A row, a tuple
of strings, numbers and bytes, costs 3 KB, and the collector stops tracking it at its
first pass, so the cache does not lengthen collection pauses. Most reads (version,
generation, labels, deletion) need only the header fields; a reader of the whole object
decodes a private copy.
"""

from collections.abc import Mapping
from itertools import chain
from sys import intern
from typing import NamedTuple, Self

import orjson

from asoreconcile.base import jsontext
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey, gvk_of

Pairs = tuple[str, ...]
"""Names and values alternating: a dict would be tracked, and need three times the
memory.
"""

EntryRow = tuple[
    str,
    str,
    str,
    str,
    int,
    bool,
    tuple[str, ...],
    Pairs,
    Pairs,
    tuple[str | bool, ...],
    bytes,
]
"""Namespace, name, uid, resource version, generation, whether it is being deleted,
finalizers, labels, annotations, five values of each owner, content. It must be a plain
tuple: the collector untracks no other type.
"""

# Prefix of the text of deeply nested objects: the others skip the check.
_DEEP = b" "
_SHORT = 32
# A cluster has few distinct lists of finalizers, and thousands of each.
_PARTS = 5
_MAX_LISTS = 1000
_LISTS: dict[tuple[str, ...], tuple[str, ...]] = {}
_OWNERS: dict[tuple[object, ...], tuple[str | bool, ...]] = {}


class OwnerReference(NamedTuple):
    """An owner reference. controller: whether the owner is the managing controller."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool

    @property
    def group_kind(self) -> GroupKind:
        """The owner's kind; the version does not matter."""
        return gvk_of({"apiVersion": self.api_version, "kind": self.kind}).group_kind


class Entry:
    """One cached object. Immutable; safe to share between threads.

    A short-lived view of a row, made on demand.
    """

    __slots__ = ("_annotations", "_seen", "row")
    _annotations: Mapping[str, str]
    _seen: JsonObject

    def __init__(self, obj: JsonObject, *, keep: bool = False) -> None:
        """Create an entry from an object.

        keep: if true, `shared_view` returns `obj` itself, which must not be changed any
        more.
        """
        meta = obj["metadata"]
        read = meta.get
        text = jsontext.shallow_text(obj)
        if keep:
            self._annotations = read("annotations") or {}
            if text is not None:  # else `shared_view` returns it with sealed parts
                self._seen = obj
        self.row: EntryRow = (
            intern(read("namespace") or ""),
            meta["name"],
            read("uid") or "",
            read("resourceVersion") or "",
            read("generation") or 0,
            bool(read("deletionTimestamp")),
            _shared(read("finalizers")),
            _pairs(read("labels")),
            _pairs(read("annotations")),
            _owners(read("ownerReferences")),
            text or _DEEP + jsontext.dumps(obj),
        )

    @classmethod
    def of(cls, row: EntryRow) -> Self:
        """Return an entry that shows a row, without copying the row."""
        entry = cls.__new__(cls)
        entry.row = row
        return entry

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return ObjectKey(self.row[0], self.row[1])

    @property
    def namespace(self) -> str:
        """`metadata.namespace`; "" for cluster-scoped objects."""
        return self.row[0]

    @property
    def uid(self) -> str:
        """`metadata.uid`."""
        return self.row[2]

    @property
    def resource_version(self) -> str:
        """`metadata.resourceVersion` of the cached state."""
        return self.row[3]

    @property
    def generation(self) -> int:
        """`metadata.generation`; 0 for kinds without one."""
        return self.row[4]

    @property
    def deleting(self) -> bool:
        """Return whether deletion was requested and finalizers hold the object."""
        return self.row[5]

    @property
    def finalizers(self) -> tuple[str, ...]:
        """The finalizers, in their order."""
        return self.row[6]

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels; read-only. No parsing of the object. Rule: TH-5."""
        return _mapping(self.row[7])

    @property
    def annotations(self) -> Mapping[str, str]:
        """The annotations; read-only. No parsing of the object. Rule: TH-5."""
        # Cached in the view: an event's indexes and handlers read it a dozen times. Not
        # there before: most entries are made, kept and never asked.
        try:
            return self._annotations
        except AttributeError:
            self._annotations = made = _mapping(self.row[8])
            return made

    def has_annotations_of(self, other: "Entry") -> bool:
        """Return whether both have the same annotations, as after most changes; builds
        no mapping.
        """
        return self.row[8] == other.row[8] or self.annotations == other.annotations

    @property
    def owners(self) -> tuple[OwnerReference, ...]:
        """The owners, in their order. No parsing of the object. Rule: TH-5."""
        held = self.row[9]
        return tuple(
            OwnerReference(*held[at : at + _PARTS])  # type: ignore[arg-type]
            for at in range(0, len(held), _PARTS)
        )

    def deep_copy(self) -> JsonObject:
        """Return a private copy of the object: the caller may change it."""
        text = self.row[10]
        # orjson fails at 1024 levels; the prefix spares all other objects the slower
        # way.
        is_deep = text.startswith(_DEEP)
        obj: JsonObject = jsontext.loads(text) if is_deep else orjson.loads(text)
        return obj

    def shared_view(self) -> JsonObject:
        """Return the object, shared by all readers of this view: do not change it."""
        try:
            return self._seen
        except AttributeError:
            self._seen = seen = self.deep_copy()
            return seen

    @property
    def size_bytes(self) -> int:
        """The size of the cached JSON."""
        return len(self.row[10])


def _shared(values: list[str] | None) -> tuple[str, ...]:
    if not values:
        return ()
    made = tuple(values)
    # When full, new lists are not shared: invented finalizers must not fill the memory.
    if len(_LISTS) >= _MAX_LISTS:
        return _LISTS.get(made, made)
    return _LISTS.setdefault(made, made)


def _pairs(values: dict[str, str] | None) -> Pairs:
    if not values:
        return ()
    found: list[str] = []
    for name, value in values.items():
        found.append(intern(name))
        # Long values are mostly unique per object; short ones repeat.
        found.append(intern(value) if len(value) < _SHORT else value)
    return tuple(found)


def _owners(references: list[JsonObject] | None) -> tuple[str | bool, ...]:
    if not references:
        return ()
    if len(references) == 1:  # nearly always
        made = _owner(references[0])
    else:
        made = tuple(chain.from_iterable(map(_owner, references)))
    # All children of an owner name it, so the tuple is shared, as in `_shared`.
    known = _OWNERS.get(made)
    if known is not None:
        return known
    values = tuple(
        one if isinstance(one, bool) else intern(str(one or "")) for one in made
    )
    if len(_OWNERS) >= _MAX_LISTS:
        return values
    return _OWNERS.setdefault(made, values)


def _owner(reference: JsonObject) -> tuple[object, ...]:
    read = reference.get
    return (
        read("apiVersion"),
        read("kind"),
        read("name"),
        read("uid"),
        bool(read("controller")),
    )


def _mapping(pairs: Pairs) -> Mapping[str, str]:
    return dict(zip(pairs[::2], pairs[1::2], strict=True))
