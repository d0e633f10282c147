"""Names that an extension states of kinds, checked before the operator starts.

A check that reads a path which no version of a kind has would never block, without an
error. So the factories say what they read (`reading`), and `Extensions.compose`
compares it with the catalogue. Pure.
"""

from collections.abc import Iterator
from string import Formatter
from typing import TypeVar

import attrs

from asoreconcile.azure.catalogue.kinds import (
    Catalogue,
    KindVersion,
    NotInCatalogueError,
)
from asoreconcile.azure.catalogue.suggestions import hint
from asoreconcile.azure.middleware.extension_set import (
    ANY_ARM_KIND,
    ANY_KIND,
    Extension,
    ExtensionError,
)
from asoreconcile.base.objects import GroupKind, JsonObject

_Run = TypeVar("_Run")
_READS = "reads_paths"
_OPEN = "x-kubernetes-preserve-unknown-fields"


@attrs.frozen
class StatedPath:
    """A dotted path that an extension reads, from the object's root.

    owner: the kind of the owner that has the path; None for the object itself.
    """

    path: str
    owner: GroupKind | None = None


def reading(run: _Run, *paths: StatedPath) -> _Run:
    """Return the same function with the paths that it reads."""
    setattr(run, _READS, paths)
    return run


def unknown_names(link: Extension, catalogue: Catalogue) -> Iterator[str]:
    """Yield what is wrong with each kind and path that an extension's factory states.

    link: an extension for a kind of the catalogue.
    """
    if link.kind in (ANY_KIND, ANY_ARM_KIND):
        return
    paths: tuple[StatedPath, ...] = getattr(link.run, _READS, ())
    for stated in paths:
        kind = stated.owner or link.kind
        why = "" if stated.owner is None else _not_owner(link, kind, catalogue)
        if why := why or _lacks(kind, stated.path, catalogue):
            yield why


def checked_message(message: str, *fields: str) -> str:
    """Return the message of an extension. Raises ExtensionError for a `{field}` that is
    not one of these.
    """
    try:
        used = [
            name for _, name, _, _ in Formatter().parse(message) if name is not None
        ]
    except ValueError as error:
        raise ExtensionError(
            f"message {message!r} cannot be filled in: {error}"
        ) from None
    for name in used:
        if name not in fields:
            known = ", ".join(f"{{{one}}}" for one in fields)
            raise ExtensionError(
                f"message {message!r} has {{{name}}}, and only {known} can be filled "
                f"in{hint(name, fields)}"
            )
    return message


def _not_owner(link: Extension, owner: GroupKind, catalogue: Catalogue) -> str:
    """Return why a kind is never the owner of a link's kind, or ""."""
    try:
        catalogue.kind(owner)
    except NotInCatalogueError as error:
        return f"owner {owner}: {error}"
    owners = {version.owner for version in _versions(link.kind, catalogue)}
    if None in owners or owner in owners:
        return ""
    names = ", ".join(sorted(str(one) for one in owners))
    return f"owner {owner}: objects of {link.kind} are owned by {names}"


def _versions(kind: GroupKind, catalogue: Catalogue) -> list[KindVersion]:
    known = catalogue.kind(kind)
    return [known.version(name) for name in known.versions]


def _lacks(kind: GroupKind, path: str, catalogue: Catalogue) -> str:
    """Return why no version of a kind has a path, or ""."""
    versions = _versions(kind, catalogue)
    problems = [_missing(version.schema, path) for version in versions]
    if not all(problems):
        return ""
    return f"{kind} has no {path!r}: {problems[-1]}"


def _missing(schema: JsonObject, path: str) -> str:
    """Return which part of a path a schema lacks, or ""."""
    at = ""
    for part in path.split("."):
        if schema.get(_OPEN) or at == "metadata":
            return ""
        properties: JsonObject = schema.get("properties", {})
        inner = properties.get(part, schema.get("additionalProperties"))
        if not isinstance(inner, dict):
            return f"{at or 'the object'} has no {part!r}{hint(part, properties)}"
        schema, at = inner, f"{at}.{part}".lstrip(".")
    return ""
