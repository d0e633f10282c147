"""Translates specs of Entra's kinds to Microsoft Graph's terms. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from asoreconcile.azure.arm.condition_error import unusable
from asoreconcile.azure.graph.client import GroupLink
from asoreconcile.azure.graph.collections import DirectoryCollection
from asoreconcile.base.objects import JsonObject

MARK_PREFIX = "asoreconcile-"
_ALWAYS_CREATE, _ADOPT_ONLY = "AlwaysCreate", "AdoptOnly"


@attrs.frozen
class EntraKind:
    """A kind of Entra: its collection, and how a spec of it is read.

    desired: returns the spec in Graph's terms.
    shown: returns the status without conditions for an entry of Entra.
    require_possible: takes a spec and an entry, and raises ConditionError for changes
    that Graph cannot make.
    permission: the permission that the operator's application needs to write.
    exports: destinations of `operatorSpec.configmaps`, and the property for each.
    links: the lists of a spec that name other objects of Entra.
    first_status: returns the fields of the status that ASO's schema requires.
    """

    collection: DirectoryCollection
    desired: Callable[[JsonObject], "DesiredObject"]
    shown: Callable[[JsonObject], JsonObject]
    require_possible: Callable[[JsonObject, JsonObject], None]
    permission: str
    exports: Mapping[str, str]
    links: tuple[GroupLink, ...] = ()
    first_status: Callable[["DesiredObject"], JsonObject] = lambda _: {}


@attrs.frozen
class DesiredObject:
    """A spec; values that Graph chooses are left out.

    properties: values to keep in line; None removes a value.
    at_creation: further properties of a creation.
    search: the property, and its value, that finds an entry that was there before.
    nickname: the value that decides among several of them, or "".
    adopts: if true, an entry that was there may become the object's.
    is_only_read: if true, nothing is ever written.
    lacks: a field of the spec without which no entry can be created, or "".
    """

    of: DirectoryCollection
    properties: JsonObject
    at_creation: JsonObject
    search: tuple[str, str]
    nickname: str
    adopts: bool
    is_only_read: bool
    lacks: str = ""

    @property
    def noun(self) -> str:
        """Return the noun for an entry, such as "group"."""
        return self.of.noun


def desired_object(
    of: DirectoryCollection,
    spec: JsonObject,
    *,
    properties: JsonObject,
    search: tuple[str, str],
    at_creation: JsonObject | None = None,
    nickname: str = "",
    lacks: str = "",
) -> DesiredObject:
    """Return a spec in Graph's terms, with its creation mode."""
    mode = (spec.get("operatorSpec") or {}).get("creationMode")
    return DesiredObject(
        of,
        # Graph takes no "".
        {n: None if v == "" else v for n, v in properties.items()},
        at_creation or {},
        search,
        nickname,
        adopts=mode != _ALWAYS_CREATE,
        is_only_read=mode == _ADOPT_ONLY,
        lacks=lacks,
    )


def mark_of(uid: str) -> str:
    """Return the mark of an entry that is created for an object: its `uniqueName`, or
    one of its tags in a collection without unique names.

    Graph allows one entry per `uniqueName` and never changes it, so the entry is found
    again even if the response to its creation was lost.
    """
    return f"{MARK_PREFIX}{uid}"


def marks_in(of: DirectoryCollection, entry: JsonObject) -> list[str]:
    """Return the marks of an entry, which may be from several installations."""
    found = [entry.get("uniqueName")]
    if not of.has_unique_names:
        found = list(entry.get("tags") or ())
    return [m for m in map(str, found) if m.lower().startswith(MARK_PREFIX)]


def creation_body(
    desired: DesiredObject, mark: str, links: Mapping[str, Sequence[str]]
) -> JsonObject:
    """Return the body that creates the entry. links: `members`, `owners` to
    references.
    """
    body = {n: v for n, v in desired.properties.items() if v is not None}
    body |= desired.at_creation
    if not desired.of.has_unique_names:
        body["tags"] = [mark]
    for link, references in links.items():
        if references:
            body[f"{link}@odata.bind"] = list(references)
    return body


def changes_of(desired: DesiredObject, entry: JsonObject) -> JsonObject:
    """Return the properties of an entry that differ from the spec, with the spec's
    values.
    """
    return {
        name: value
        for name, value in desired.properties.items()
        if not _is_as(value, entry.get(name))
    }


def _is_as(want: Any, have: Any) -> bool:
    """Return whether a value matches the spec.

    In a mapping only the fields of the spec are compared, and in a list the order does
    not matter.
    """
    if isinstance(want, dict):
        there = have or {}
        return all(_is_as(value, there.get(name)) for name, value in want.items())
    if isinstance(want, list):
        return sorted(map(str, want)) == sorted(map(str, have or ()))
    return bool(want == have)


def text_in(spec: JsonObject, field: str, noun: str) -> str:
    """Return a text that a spec must have. Raises ConditionError `Failed` (Error) for
    a spec that no schema has checked.
    """
    value = spec.get(field)
    if not isinstance(value, str) or not value:
        raise unusable(f"spec.{field} is missing: {noun} must have it")
    return value
