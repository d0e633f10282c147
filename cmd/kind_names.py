"""Finds the kinds that a command line means: by a word, as kubectl does, or by a
pattern.

A word is `KIND`, `KIND.GROUP` or `KIND.VERSION.GROUP`. KIND is a kind, its plural, a
short name that the cluster's CRD has, or the initials of the kind (`rg`, `nsg`).
"""

import re
from collections.abc import Iterator, Sequence

import click

from asoreconcile.azure.catalogue.kinds import Catalogue, Kind
from asoreconcile.azure.catalogue.patterns import match
from asoreconcile.azure.catalogue.suggestions import hint, lacking
from asoreconcile.azure.cmd.terminal import fail
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.discovery import DISCOVERY_ACCEPT
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import GroupKind, JsonObject
from asoreconcile.kube.client import KubeClient

_VERSION = re.compile(r"v\d\w*")
kind_patterns = click.argument("patterns", nargs=-1, metavar="[PATTERN]...")


def kinds_matching(patterns: Sequence[str]) -> Sequence[Kind]:
    """Return the kinds that a command's patterns match; every kind if there are no
    patterns.

    If a pattern matches no kind, the program ends with a message.
    """
    matched = match(patterns or "*", builtin().kinds())
    if matched.unmatched:
        fail(*matched.unmatched, code=2)
    if not matched.kinds:
        fail("the pattern is empty: '*' chooses every kind", code=2)
    return matched.kinds


class KindNameError(AsoreconcileError):
    """A word names no kind of Azure; the message says what the word could mean."""


def kinds_named(word: str, catalogue: Catalogue, client: KubeClient) -> list[Kind]:
    """Return the kinds of the catalogue that a word names; at least one.

    Reads the cluster's discovery if the catalogue has no such kind: two requests.
    Raises KindNameError, ApiError, TransportError.
    """
    name, _, rest = word.lower().partition(".")
    version, group = "", rest
    if _VERSION.fullmatch(rest.partition(".")[0]):
        version, _, group = rest.partition(".")
    of_group = [k for k in catalogue.kinds() if group in ("", k.group)]
    if not of_group:
        near = hint(group, catalogue.groups())
        raise KindNameError(f"Azure has no group {group!r}{near}")
    found = [k for k in of_group if name in (k.group_kind.kind.lower(), k.plural)]
    found = found or [k for k in of_group if name == _initials(k)]
    found = found or _served(name, of_group, client)
    if not found:
        near = hint(name, {k.group_kind.kind for k in of_group})
        raise KindNameError(f"there is no kind {word!r}{near}")
    return [k for k in found if not version or _has(k, version)]


def _has(kind: Kind, version: str) -> bool:
    """Return True if the kind has the version. Raises KindNameError if it lacks it."""
    if version not in kind.versions:
        raise KindNameError(
            f"{kind.group_kind} has no version {version!r}"
            f"{lacking(version, kind.versions)}"
        )
    return True


def _initials(kind: Kind) -> str:
    return "".join(re.findall(r"[A-Z]", kind.group_kind.kind)).lower()


def _served(name: str, kinds: Sequence[Kind], client: KubeClient) -> list[Kind]:
    """Return the kinds that the cluster serves by a name. Raises KindNameError if
    only kinds of others have the name.
    """
    others = set()
    found = {}
    by_name = {k.group_kind: k for k in kinds}
    for path in ("/apis", "/api"):
        for group_kind, names in _names(client.read(path, accept=DISCOVERY_ACCEPT)):
            if name in names and group_kind in by_name:
                found[group_kind] = by_name[group_kind]
            elif name in names:
                others.add(group_kind)
    if others and not found:
        shown = ", ".join(sorted(map(str, others)))
        raise KindNameError(
            f"{shown} is not a kind of Azure: kubectl describe {name} shows its objects"
        )
    return list(found.values())


def _names(document: JsonObject) -> Iterator[tuple[GroupKind, set[str]]]:
    """Yield each kind of an aggregated discovery document with all its names."""
    for group in document.get("items") or ():
        named = group.get("metadata", {}).get("name", "")
        for version in group.get("versions") or ():
            for resource in version.get("resources") or ():
                kind = (resource.get("responseKind") or {}).get("kind", "")
                names = {
                    kind.lower(),
                    resource.get("resource", ""),
                    resource.get("singularResource", ""),
                    *(resource.get("shortNames") or ()),
                }
                yield GroupKind(named, kind), names
