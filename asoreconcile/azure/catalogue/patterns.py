"""Choose kinds by pattern, as ASO's `--crd-pattern` does.

A pattern is a list of globs separated by `;`, each matched against `group/Kind` without
letter case; `*` matches any text, including slashes, `?` one character.
"""

import re
from collections.abc import Iterable, Sequence

import attrs

from asoreconcile.azure.catalogue.kinds import Kind
from asoreconcile.azure.catalogue.suggestions import closest
from asoreconcile.base.errors import AsoreconcileError


@attrs.frozen
class Unmatched:
    """A glob that matched no kind, and the `group/Kind` names nearest to it."""

    pattern: str
    suggestions: tuple[str, ...]

    def __str__(self) -> str:
        text = f"no kind matches {self.pattern!r}"
        if self.suggestions:
            text += f"; did you mean {' or '.join(self.suggestions)}?"
        return text


class PatternError(AsoreconcileError):
    """A glob of a pattern matches no kind."""


@attrs.frozen
class Matched:
    """The chosen kinds, in the order given, and the globs that matched none."""

    kinds: tuple[Kind, ...]
    unmatched: tuple[Unmatched, ...]

    def require_all(self) -> None:
        """Raise PatternError if a glob matched no kind, naming every such glob."""
        if self.unmatched:
            raise PatternError("; ".join(map(str, self.unmatched)))


def match(patterns: str | Iterable[str], kinds: Sequence[Kind]) -> Matched:
    """Return the kinds that at least one glob matches.

    patterns: `network.azure.com/*;containerservice.azure.com/ManagedCluster`, or
    several such texts. Empty globs are ignored, so "" matches no kind.

    Pure.
    """
    texts = [patterns] if isinstance(patterns, str) else patterns
    globs = [glob.strip() for text in texts for glob in text.split(";")]
    chosen: set[str] = set()
    unmatched = []
    for glob in filter(None, globs):
        # Over all kinds, also those chosen before: a glob that adds nothing is still
        # right.
        regex = _regex(glob)
        hits = {str(kind) for kind in kinds if regex.fullmatch(str(kind))}
        chosen |= hits
        if not hits:
            unmatched.append(Unmatched(glob, _suggestions(glob, kinds)))
    found = tuple(kind for kind in kinds if str(kind) in chosen)
    return Matched(found, tuple(unmatched))


def _regex(glob: str) -> re.Pattern[str]:
    parts = (
        {"*": ".*", "?": "."}.get(character, re.escape(character)) for character in glob
    )
    return re.compile("".join(parts), re.IGNORECASE | re.DOTALL)


def _suggestions(glob: str, kinds: Sequence[Kind]) -> tuple[str, ...]:
    """Return the nearest names: whole names, kinds if no group was given, or groups."""
    group, slash, name = glob.partition("/")
    if slash and name.strip("*") == "":
        groups = {kind.group_kind.group for kind in kinds}
        return tuple(f"{near}/{name}" for near in closest(group, groups))
    if not slash or group.strip("*") == "":
        glob = name or group
        by_kind: dict[str, list[str]] = {}
        for kind in kinds:
            by_kind.setdefault(kind.group_kind.kind, []).append(str(kind))
        close = closest(glob, by_kind)
        return tuple(full for near in close for full in by_kind[near][:3])
    return tuple(closest(glob, map(str, kinds), count=2))
