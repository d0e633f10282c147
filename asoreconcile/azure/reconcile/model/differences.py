"""The differences between a body to PUT and a body from a GET.

Pure. The walk follows the wanted body; additions by Azure are ignored, except in lists
and free maps (maps whose keys the author chooses), in which an addition changes the
meaning. A list of children may have further elements, because other objects manage
some. Letter case and formats are ignored, except in texts that Azure tells apart
(`distinctions`).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import attrs

from asoreconcile.azure.catalogue.body_shape import plain_path
from asoreconcile.azure.reconcile.model.distinctions import NOTHING, Distinctions
from asoreconcile.azure.reconcile.model.normalization import is_empty, is_same, plain
from asoreconcile.base import jsontext
from asoreconcile.base.jsontext import DeepJson
from asoreconcile.base.objects import JsonObject

DifferenceKind = Literal[
    "absent", "value", "shape", "list-missing", "list-extra", "map-extra"
]

# Replaces a value that must not be compared, such as a secret.
HIDDEN: Final = "\0hidden"

# A PUT of the same id cannot change these, or they cannot be read back.
_ENVELOPE = frozenset(
    {"id", "name", "type", "etag", "systemData", "apiVersion", "location"}
)
_FREE_MAPS = frozenset({"tags", "userassignedidentities"})
# Members that identify the elements of a list, the most reliable first.
IDENTIFYING = (
    *("id", "name", "key", "ruleId", "principalId", "objectId", "serviceName"),
    *("service", "category", "type", "port", "destinationPort", "locationName"),
    "location",
)
# Longer lists without an identity are paired by position: comparing all pairs would
# take quadratic time.
_MAX_PAIRS = 2500


@attrs.frozen
class Difference:
    """One difference between a body to PUT and the resource that Azure shows.

    path: place in the body, such as `properties/subnets[web]/addressPrefix`. The repr
    hides the values.
    """

    path: str
    kind: DifferenceKind
    want: Any = attrs.field(default=None, repr=False)
    have: Any = attrs.field(default=None, repr=False)


def differences(
    want: JsonObject,
    have: JsonObject,
    *,
    children: frozenset[str] = frozenset(),
    free_maps: frozenset[str] = frozenset(),
    apart: Distinctions = NOTHING,
) -> list[Difference]:
    """Return the differences that a PUT of `want` might repair. Changes neither.

    children: names in `properties` of collections whose elements are resources of their
    own, in lower case. free_maps: paths of maps whose keys the author chooses, as in
    `catalogue.body_shape`: in them even an empty entry has a meaning. apart: fields in
    which the type distinguishes spelling or order.
    """
    inside = {name: value for name, value in want.items() if name not in _ENVELOPE}
    collections = frozenset(f"properties/{name}" for name in children)
    walk = _Walk(collections, free_maps, apart)
    return list(walk.objects("", inside, have))


def hidden_values(body: Any, path: str = "") -> Iterator[Difference]:
    """Yield each hidden value of a body as a difference, because Azure does not show
    its own value.
    """
    if isinstance(body, dict):
        for name, inner in body.items():
            yield from hidden_values(inner, f"{path}/{name}" if path else name)
    elif isinstance(body, list):
        for index, inner in enumerate(body):
            yield from hidden_values(inner, f"{path}[{index}]")
    elif body == HIDDEN:
        yield Difference(path, "absent", want=HIDDEN)


@attrs.frozen
class _Walk:
    """One comparison of two bodies.

    children: paths of lists that other objects add to. free_maps: see `differences`.
    roughly: whether list elements are paired by position.
    """

    children: frozenset[str]
    free_maps: frozenset[str] = frozenset()
    apart: Distinctions = NOTHING
    roughly: bool = False

    def is_free(self, path: str) -> bool:
        """Return whether the author chooses the keys of the map at a path."""
        return path.rpartition("/")[2].casefold() in _FREE_MAPS or (
            bool(self.free_maps) and plain_path(path) in self.free_maps
        )

    def absent(self, path: str, value: Any) -> Iterator[Difference]:
        """Yield a difference for each leaf of a wanted value that Azure does not show.

        In a map whose keys the author chooses, an empty entry is a difference, too.
        """
        if value == HIDDEN or value is None:
            return
        if isinstance(value, dict) and value:
            is_free = self.is_free(path)
            for name, inner in value.items():
                if is_free and inner is not None and is_empty(inner):
                    yield Difference(f"{path}/{name}", "absent", want=inner)
                else:
                    yield from self.absent(f"{path}/{name}", inner)
        elif not is_empty(value):
            yield Difference(path, "absent", want=value)

    def objects(
        self, path: str, want: JsonObject, have: JsonObject
    ) -> Iterator[Difference]:
        spelled = {name.casefold(): name for name in have}
        is_closed = path.rpartition("/")[2].casefold() in _FREE_MAPS
        is_free = is_closed or self.is_free(path)
        is_named_by_author = path.rpartition("/")[2].casefold() == "tags"
        seen = set()
        for name, value in want.items():
            at = f"{path}/{name}" if path else name
            theirs = name if name in have else spelled.get(name.casefold())
            if theirs is not None:
                seen.add(theirs)
            found = None if theirs is None else have[theirs]
            # In a free map an empty value says something: a tag without one is still a
            # tag.
            if found is None:
                if is_free and theirs is None and value is not None and is_empty(value):
                    yield Difference(at, "absent", want=value)
                else:
                    yield from self.absent(at, value)
            else:
                if is_named_by_author and theirs != name and not _is_id(name):
                    yield Difference(at, "value", want=name, have=theirs)
                exactly = is_named_by_author or self.is_exact(at)
                yield from self.values(at, value, found, exactly=exactly)
        # Into other free maps Azure writes entries of its own, which the snapshot
        # watches.
        if is_closed:
            for name in have.keys() - seen:
                yield Difference(f"{path}/{name}", "map-extra", have=have[name])

    def is_exact(self, path: str) -> bool:
        """Return whether the texts at a path are equal only to themselves."""
        return bool(self.apart.exact) and plain_path(path) in self.apart.exact

    def values(
        self, path: str, want: Any, have: Any, *, exactly: bool = False
    ) -> Iterator[Difference]:
        if want is None or want == HIDDEN:
            return
        if isinstance(want, dict) and isinstance(have, dict):
            yield from self.objects(path, want, have)
        elif isinstance(want, list) and isinstance(have, list):
            yield from self.lists(path, want, have, exactly=exactly)
        elif isinstance(want, DeepJson) or isinstance(have, DeepJson):
            if want != have:
                yield Difference(path, "value", want, have)
        elif isinstance(want, dict | list) or isinstance(have, dict | list):
            if not (is_empty(want) and is_empty(have)):
                yield Difference(path, "shape", want, have)
        elif not (_is_exactly(want, have) if exactly else is_same(want, have)):
            yield Difference(path, "value", want, have)

    def lists(
        self, path: str, want: list[Any], have: list[Any], *, exactly: bool
    ) -> Iterator[Difference]:
        if all(isinstance(one, dict) for one in (*want, *have)):
            yield from self.elements(path, want, have)
            return
        written = str if exactly else _text
        mine, theirs = (Counter(map(written, some)) for some in (want, have))
        # It is unknown which of Azure's elements is the hidden one, so none is
        # reported.
        if HIDDEN in mine:
            return
        for text in (mine - theirs).elements():
            yield Difference(path, "list-missing", want=text)
        for text in (theirs - mine).elements():
            yield Difference(path, "list-extra", have=text)
        if (
            mine == theirs
            and plain_path(path) in self.apart.ordered
            and [*map(written, want)] != [*map(written, have)]
        ):
            yield Difference(path, "value", want, have)

    def elements(
        self, path: str, want: list[JsonObject], have: list[JsonObject]
    ) -> Iterator[Difference]:
        identity = _identity(want, have)
        if identity:
            pairs, missing, extra = _by_identity(identity, want, have)
        else:
            pairs, missing, extra = self.by_likeness(path, want, have)
        for name, mine, theirs in pairs:
            yield from self.objects(f"{path}[{name}]", mine, theirs)
        for name, mine in missing:
            yield Difference(f"{path}[{name}]", "list-missing", want=mine)
        if path.casefold() not in self.children:
            for name, theirs in extra:
                yield Difference(f"{path}[{name}]", "list-extra", have=theirs)

    def by_likeness(
        self, path: str, want: list[JsonObject], have: list[JsonObject]
    ) -> "_Paired":
        """Pair equal elements first, then each other one with the element it differs
        least from.

        If several differ equally, the same position wins. If `roughly` is set, or the
        lists are long, elements are paired by position.
        """
        left = dict(enumerate(have))
        pairs: list[tuple[str, JsonObject, JsonObject]] = []
        rest = list(enumerate(want))
        by_position = self.roughly or len(want) * len(have) > _MAX_PAIRS
        if by_position:
            count = min(len(want), len(have))
            both = zip(want, have, strict=False)
            paired = [(str(i), mine, other) for i, (mine, other) in enumerate(both)]
            missing = [(str(i), one) for i, one in rest[count:]]
            return paired, missing, [(str(i), left[i]) for i in range(count, len(have))]
        for exactly in (True, False):
            waiting, rest = rest, []
            for index, mine in waiting:
                distances = {i: self._distance(path, mine, left[i]) for i in left}
                best = min(
                    left, key=lambda i: (distances[i], i != index, i), default=-1
                )
                if best < 0 or (exactly and distances[best]):
                    rest.append((index, mine))
                else:
                    pairs.append((str(index), mine, left.pop(best)))
        missing = [(str(index), mine) for index, mine in rest]
        return pairs, missing, [(str(i), one) for i, one in left.items()]

    def _distance(self, path: str, want: JsonObject, have: JsonObject) -> int:
        # Lists within are paired by position: were each a search of its own, the work
        # would double with every level, and a few dozen would never end.
        walk = attrs.evolve(self, roughly=True)
        return sum(1 for _ in walk.objects(path, want, have))


_Paired = tuple[
    list[tuple[str, JsonObject, JsonObject]],
    list[tuple[str, JsonObject]],
    list[tuple[str, JsonObject]],
]


def _identity(want: Sequence[JsonObject], have: Sequence[JsonObject]) -> str:
    """Return the name of the member that distinguishes the elements of both lists, or
    "".
    """
    for name in IDENTIFYING:
        if all(_is_unique(name, some) for some in (want, have)):
            return name
    return ""


def partners(want: Sequence[Any], have: Sequence[Any]) -> list[int | None]:
    """Return for each element of a wanted list the index of its partner in Azure's
    list.

    Partners have the same value in the identifying member; without such a member, the
    same position in lists of the same length.
    """
    are_objects = all(isinstance(one, dict) for one in (*want, *have))
    if are_objects and (name := _identity(want, have)):
        theirs = {plain(one[name]): at for at, one in enumerate(have)}
        return [theirs.get(plain(one[name])) for one in want]
    if len(want) != len(have):
        return [None] * len(want)
    return [*range(len(want))]


def _is_unique(name: str, some: Sequence[JsonObject]) -> bool:
    values = [one.get(name) for one in some]
    if any(v is None or v == HIDDEN or isinstance(v, dict | list) for v in values):
        return False
    return len({plain(v) for v in values}) == len(values)


def _by_identity(name: str, want: list[JsonObject], have: list[JsonObject]) -> _Paired:
    theirs = {plain(one[name]): one for one in have}
    pairs, missing = [], []
    for mine in want:
        found = theirs.pop(plain(mine[name]), None)
        if found is None:
            missing.append((str(mine[name]), mine))
        else:
            pairs.append((str(mine[name]), mine, found))
    return pairs, missing, [(str(one[name]), one) for one in theirs.values()]


def _is_exactly(want: Any, have: Any) -> bool:
    """Return whether two texts are the same; other values have no spelling."""
    if isinstance(want, str) and isinstance(have, str):
        return want == have
    return is_same(want, have)


def _is_id(name: str) -> bool:
    return name.startswith("/")


def _text(value: Any) -> str:
    if isinstance(value, dict | list | DeepJson):
        value = jsontext.dumps(value, sort_keys=True).decode()
    return value if value == HIDDEN else plain(value)


# Etags and states change together with any other value.
_NOT_NAMED = frozenset({"etag", "systemData", "provisioningState"})


def changed_paths(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, ...]:
    """Return the paths at which two objects differ, such as
    `addressSpace.addressPrefixes[1]`, sorted by name.

    A null value counts as absent.

    A list that changed its length is one path, without the element.
    """
    return tuple(_walk(before, after, ""))


def _walk(before: Any, after: Any, at: str) -> Iterator[str]:
    match before, after:
        case dict(), dict():
            for name in sorted({*before, *after} - _NOT_NAMED):
                inside = f"{at}.{name}" if at else name
                yield from _walk(before.get(name), after.get(name), inside)
        case list(), list() if len(before) == len(after):
            for index, (one, other) in enumerate(zip(before, after, strict=True)):
                yield from _walk(one, other, f"{at}[{index}]")
        case _ if before != after:
            yield at
