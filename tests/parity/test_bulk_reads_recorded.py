"""Lists of resources from recordings of Azure: the items that can replace a GET, and
the others.
"""

import json
import lzma
import random
from collections import defaultdict

import pytest
from datafolder import data_folder

from asoreconcile.azure.arm.body_digest import digest_of
from asoreconcile.azure.arm.collection_reads import CollectionReads
from asoreconcile.azure.arm.collections import collection_of
from asoreconcile.base.objects import copy_json
from asoreconcile.testing.clock import FakeClock

PERIOD = 3600.0


@pytest.fixture(scope="module")
def bodies():
    """The last GET of each resource that was recorded, by its id."""
    path = data_folder("roundtrips-dev.jsonl.xz")
    with lzma.open(path, "rt") as lines:
        records = [json.loads(line) for line in lines]
    found = [record["get_bodies"][-1] for record in records if record["get_bodies"]]
    return {body["id"]: body for body in found if body.get("id")}


class Lists:
    """An Azure whose lists show these bodies."""

    def __init__(self, bodies):
        self._bodies = defaultdict(list)
        for id_, body in bodies.items():
            if address := collection_of(id_):
                self._bodies[address.path].append(body)
        self.read = []

    def pages(self, path, api_version):
        self.read.append(path)
        yield [copy_json(body) for body in self._bodies[path]]


def leaves(body, at=()):
    if isinstance(body, dict):
        for name, inner in body.items():
            yield from leaves(inner, (*at, name))
    elif isinstance(body, list):
        for index, inner in enumerate(body):
            yield from leaves(inner, (*at, index))
    elif body is not None:
        yield at


def without(body, path):
    changed = copy_json(body)
    inside = changed
    for name in path[:-1]:
        inside = inside[name]
    del inside[path[-1]]
    return changed


def with_other(body, path):
    changed = copy_json(body)
    inside = changed
    for name in path[:-1]:
        inside = inside[name]
    inside[path[-1]] = {"another": inside[path[-1]]}
    return changed


def test_q3_q7_listed_whole_every_recorded_body_passes_for_its_get(bodies):
    clock = FakeClock()
    lists = Lists(bodies)
    reads = CollectionReads(clock, max_age_seconds=PERIOD)
    read_at = clock.monotonic()
    clock.advance(PERIOD)
    shown = {}
    for id_ in bodies:
        # A list is made for the third resource.
        for asked in (f"{id_}-1", f"{id_}-2", id_):
            if entry := ask(reads, lists, asked, read_at):
                shown[asked] = entry
    listable = [id_ for id_ in bodies if collection_of(id_)]
    assert len(listable) > 0.8 * len(bodies)
    assert set(shown) == set(listable)
    assert all(entry.body == bodies[id_] for id_, entry in shown.items())
    assert len(lists.read) == len({collection_of(id_).path.lower() for id_ in listable})


def ask(reads, lists, id_, read_at):
    return reads.entry(lists, id_, "v", credential="c", seen_at=read_at)


def test_no_leaf_of_a_body_leaves_its_digest_as_it_is(bodies):
    seeded = random.Random(3)
    looked_at = 0
    for id_, body in bodies.items():
        digest = digest_of(body)
        paths = [path for path in leaves(body) if path[0] != "systemData"]
        for path in seeded.sample(paths, min(8, len(paths))):
            assert digest_of(without(body, path)) != digest, (id_, path)
            assert digest_of(with_other(body, path)) != digest, (id_, path)
            looked_at += 1
    assert looked_at > 5_000


def test_ids_and_nulls_are_all_that_may_differ(bodies):
    for id_, body in bodies.items():
        if collection_of(id_) is None:
            continue
        listed = {**body, "id": id_.upper(), "zones": body.get("zones"), "x": None}
        assert digest_of(listed) == digest_of(body), id_
