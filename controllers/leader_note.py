"""Annotations of the Lease by which the leader publishes its build and the kinds that
it runs.
"""

from collections.abc import Mapping

import attrs

from asoreconcile.base import jsontext
from asoreconcile.base.objects import GroupKind

LEADER = "asoreconcile/leader"


@attrs.frozen
class LeaderNote:
    """The build of the leader, `asoreconcile-1.2.3`, and the kinds that it runs.

    Both are empty if no other process leads, or if the leader has published nothing.
    """

    build: str = ""
    kinds: frozenset[GroupKind] = frozenset()

    def annotations(self) -> Mapping[str, str]:
        """Return the annotations for the Lease."""
        groups: dict[str, list[str]] = {}
        for kind in sorted(self.kinds):
            groups.setdefault(kind.group, []).append(kind.kind)
        note = {"build": self.build, "kinds": groups}
        return {LEADER: jsontext.dumps(note).decode()}


def leader_note(annotations: Mapping[str, str]) -> LeaderNote:
    """Return the build and kinds of a Lease's holder, as its annotations state them.

    An annotation that cannot be read counts as missing.
    """
    try:
        note = jsontext.loads(annotations[LEADER])
        kinds = {
            GroupKind(group, kind)
            for group, names in note["kinds"].items()
            for kind in names
        }
        return LeaderNote(str(note["build"]), frozenset(kinds))
    except (AttributeError, KeyError, TypeError, ValueError):
        return LeaderNote()
