"""Figures for how well a sync tells drift from Azure's own changes, on recorded
traffic.

1,521 PUTs and the GETs that followed. Mutations are seeded. Azure's own types, not our
tables, say which fields a PUT may write. The figures are properties of the tests, which
`pytest --junitxml` writes.
"""

import json
import lzma
import random
from collections import Counter, defaultdict

import azuretypes
import pytest
from datafolder import data_folder
from test_drift_recorded import children_by_type, hidden

from asoreconcile.azure.catalogue.body_shape import body_shape
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.model.differences import (
    differences,
    hidden_values,
)
from asoreconcile.azure.reconcile.model.distinctions import distinctions_of
from asoreconcile.azure.reconcile.model.drift_baseline import marks
from asoreconcile.azure.reconcile.model.never_shown import is_never_shown, what_differs
from asoreconcile.azure.reconcile.model.snapshot import snapshot
from asoreconcile.azure.reconcile.model.type_rules import not_kept
from asoreconcile.azure.reconcile.sync.drift import is_moving
from asoreconcile.base.objects import copy_json

GROUPS = "microsoft.resources/resourcegroups"
# An identity that a policy of the recorder's subscription gave to two scale sets: a
# true change, seen as one.
POLICY = 2
EACH = 3  # mutations of one sort and record
FIXED = frozenset(
    {"id", "name", "type", "etag", "systemdata", "apiversion", "location"}
)


@pytest.fixture(scope="module")
def records():
    with lzma.open(data_folder("roundtrips-dev.jsonl.xz"), "rt") as lines:
        found = [json.loads(line) for line in lines]
    return [Sync(record) for record in found if record["get_bodies"]]


class Versions:
    """Kinds' versions by ARM type and api-version."""

    def __init__(self):
        self._found = defaultdict(dict)
        for kind in builtin().kinds():
            for name in kind.versions if kind.is_arm else ():
                version = kind.version(name)
                self._found[version.arm_type.lower()][version.api_version] = version

    def of(self, type_, api_version):
        """That one, else the nearest older one."""
        known = self._found[type_]
        older = [v for v in known if v <= api_version]
        return known[max(older) if older else min(known)]


VERSIONS = Versions()
CHILDREN = children_by_type()


class Sync:
    """One recorded PUT, looked at as a sync does."""

    def __init__(self, record):
        self.type = record["arm_type"].lower()
        self.api_version = record["api_version"]
        self.bodies = record["get_bodies"]
        self.put = hidden(record["put_body"])
        self.children = CHILDREN.get(self.type, frozenset())
        self.version = VERSIONS.of(self.type, self.api_version)
        self._shape = body_shape(self.version)

    def differences(self, have):
        found = differences(
            self.put,
            have,
            children=self.children,
            free_maps=self._shape.free_maps,
            apart=distinctions_of(self.version),
        )
        return not_kept(self.type, found)

    def snapshot(self, have):
        return snapshot(self._shape, self.put, have, children=self.children)

    def sees(self, before, have):
        """Return whether a sync that reads `have` finds a change since `before`."""
        known = marks(self.differences(before))
        if not marks(self.differences(have)) <= known:
            return True
        return self.snapshot(have) != self.snapshot(before)


def test_a_first_sync_after_our_put_differs_in_one_of_a_hundred_at_most(
    records, record_property
):
    """The read that followed the PUT teaches the fields that Azure never shows."""
    open_ = [
        one.type
        for one in records
        if any(d.kind != "absent" for d in one.differences(one.bodies[-1]))
    ]
    record_property("first syncs that PUT", dict(Counter(open_)))
    assert len(records) == 1521
    assert len(open_) <= 0.01 * len(records)


def test_ow3_nearly_every_resource_is_adopted_as_it_is(records, record_property):
    """With `adopt-if-same`, by the object that made the resource."""
    differing = [
        one.type
        for one in records
        if what_differs(
            one.version, one.put, one.bodies[-1], one.differences(one.bodies[-1])
        )[0]
    ]
    record_property("not adopted", dict(Counter(differing)))
    assert len(records) - len(differing) >= 1504


def test_d11_without_a_record_unknown_values_are_no_drift(records, record_property):
    """In mode `report`, of an object that was taken over from ASO."""
    unknown, drifted = Counter(), Counter()
    for one in records:
        secrets = list(hidden_values(one.put))
        found = [*one.differences(one.bodies[-1]), *secrets]
        unseen = [d for d in found if d in secrets or is_never_shown(one.version, d)]
        unknown[one.type] += bool(unseen)
        drifted[one.type] += len(found) > len(unseen)
    record_property("not compared", dict(+unknown))
    record_property("drifted", dict(+drifted))
    assert unknown.total() > 100
    # Policies of vaults that others wrote, a tag, and one value stored differently.
    assert drifted.total() <= 9


def test_later_syncs_see_nothing_that_did_not_happen(records, record_property):
    seen = []
    reads = 0
    for one in records:
        for before, have in zip(one.bodies, one.bodies[1:], strict=False):
            if is_moving(before) or is_moving(have):
                continue
            reads += 1
            if one.sees(before, have):
                seen.append(one.type)
    record_property("later reads", f"{reads} differ as JSON, seen: {seen}")
    assert reads >= 28
    assert seen == ["microsoft.compute/virtualmachinescalesets"] * POLICY


def test_declared_mutations_are_all_seen_and_filled_in_ones_nearly(
    records, record_property
):
    wanted = {(one.type, one.api_version) for one in records}
    types = azuretypes.read(data_folder("bicep-types-az.tar.xz"), wanted)
    rng = random.Random(7)
    seen = defaultdict(Counter)
    for one in records:
        if one.type == GROUPS and rng.random() > 0.1:
            continue
        type_ = types.get((one.type, one.api_version))
        if type_ is None:
            continue
        have = one.bodies[-1]
        places = defaultdict(list)
        for place in Places(one).of(type_, have, one.put, (), is_declared=True):
            places[place[0], place[2]].append(place[1])
        for (sort, declared), paths in places.items():
            for path in rng.sample(paths, min(EACH, len(paths))):
                mutated = one.sees(have, mutation(sort, path, have))
                seen[declared][mutated] += 1
    for declared, found in seen.items():
        record_property(f"declared={declared}, seen", dict(found))
    assert seen[True].total() > 6000
    assert seen[False].total() > 3500
    assert seen[True][False] == 0
    assert seen[False][True] / seen[False].total() >= 0.98


class Places:
    """The places where another writer could change a body: (sort, path, whether it is
    declared).
    """

    def __init__(self, sync):
        self._children = sync.children

    def of(self, type_, have, want, path, *, is_declared):
        if isinstance(have, dict):
            yield from self._members(type_, have, want, path)
        elif isinstance(have, list):
            yield from self._elements(type_, have, want, path)
        elif not str(have).startswith("{"):
            yield "scalar", path, is_declared

    def _members(self, type_, have, want, path):
        wanted = want if isinstance(want, dict) else {}
        wanted = {name.lower(): value for name, value in wanted.items()}
        for name, value in have.items():
            key = name.lower()
            if key == "provisioningstate" or (not path and key in FIXED):
                continue
            if key in type_.members:
                flags, inner = type_.members[key]
                if flags & azuretypes.READ_ONLY:
                    continue
                sort = "property"
            elif type_.other or not type_.members:
                sort, inner = "map key", type_.other or azuretypes.ANYTHING
            else:
                continue
            is_declared = wanted.get(key) is not None
            is_child = path == ("properties",) and key in self._children
            if inner.is_secret or not says(value) or (is_child and not is_declared):
                continue
            at = (*path, name)
            yield sort, at, is_declared
            yield from self.of(
                inner, value, wanted.get(key), at, is_declared=is_declared
            )

    def _elements(self, type_, have, want, path):
        inner = type_.element or azuretypes.ANYTHING
        is_child = len(path) == 2 and path[1].lower() in self._children
        wanted = want if isinstance(want, list) else []
        for index, value in enumerate(have):
            mine = pair(value, wanted, None if is_child else index)
            if is_child and mine is None:
                continue
            at = (*path, index)
            yield "element", at, mine is not None
            yield from self.of(inner, value, mine, at, is_declared=mine is not None)


def pair(value, wanted, index):
    """The declared element that this one is."""
    if not isinstance(value, dict):
        return value if value in wanted else None
    for one in wanted:
        if isinstance(one, dict) and any(
            name in one and name in value and is_alike(one[name], value[name])
            for name in ("id", "name", "key")
        ):
            return one
    return wanted[index] if index is not None and index < len(wanted) else None


def is_alike(one, other):
    return str(one).lower() == str(other).lower()


def says(value):
    if isinstance(value, dict):
        return any(says(inner) for inner in value.values())
    if isinstance(value, list):
        return any(says(inner) for inner in value)
    return value not in (None, "")


def mutation(sort, path, body):
    mutated = inside = copy_json(body)
    for step in path[:-1]:
        inside = inside[step]
    value = inside[path[-1]]
    if sort != "scalar":
        del inside[path[-1]]
    elif isinstance(value, bool):
        inside[path[-1]] = not value
    elif isinstance(value, int | float):
        inside[path[-1]] = value + 1
    else:
        inside[path[-1]] = f"{value}-changed"
    return mutated
