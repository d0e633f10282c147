"""Fields in which letter case, blanks or order have a meaning for Azure, by type. Pure.

Azure changes the spelling of most values, so a comparison ignores it. The fields here
hold the author's own text, or a list whose order has a meaning. A type's tables say
which of these fields its bodies have. Tags are told apart for every type.
"""

from functools import lru_cache

import attrs

from asoreconcile.azure.catalogue.body_shape import body_paths
from asoreconcile.azure.catalogue.kinds import KindVersion

# Ends of paths of texts that are equal only to themselves.
EXACT = (
    *("args", "arguments", "command", "content", "expression"),
    *("sqlexpression", "subjectbeginswith", "subjectendswith"),
    *("allof/query", "computedproperties/query", "match/body", "resource/body"),
    *("env/value", "environmentvariables/value", "txtrecords/value"),
)
# Ends of paths of lists whose order has a meaning.
ORDERED = ("args", "command", "dnsservers", "dnssettings/servers", "nameservers")


@attrs.frozen
class Distinctions:
    """Paths in lower case without brackets, such as `properties/rules/query`.

    exact: paths of texts that are equal only to themselves; a list counts with its
    elements. ordered: paths of lists whose order has a meaning.
    """

    exact: frozenset[str] = frozenset()
    ordered: frozenset[str] = frozenset()


NOTHING = Distinctions()


@lru_cache(maxsize=1024)
def distinctions_of(version: KindVersion) -> Distinctions:
    """Return the fields in which Azure distinguishes spelling or order; computed once
    for each version.
    """
    paths = body_paths(version)
    return Distinctions(_ending(paths, EXACT), _ending(paths, ORDERED))


def _ending(paths: frozenset[str], ends: tuple[str, ...]) -> frozenset[str]:
    ends = tuple(f"/{end}" for end in ends)
    return frozenset(path for path in paths if path.endswith(ends))
