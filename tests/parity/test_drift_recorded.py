"""Differences on recorded traffic: between the body of a PUT and the GETs after it."""

import json
import lzma
import random
import re
from collections import Counter

import pytest
from datafolder import data_folder

from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.model.differences import HIDDEN, differences
from asoreconcile.azure.reconcile.model.drift_baseline import marks
from asoreconcile.base.objects import copy_json

GROUPS = "microsoft.resources/resourcegroups"
# In the recordings these stand for secrets; a cluster keeps those in Secrets.
SECRET = re.compile(r"^\{[A-Z_]+\}$|^secret\d$")
# Never more: 1,243 records, of which Azure shows 89 otherwise than a comparison without
# any knowledge of types can forgive.
MOST = 89
LEAST_SEEN = 0.97


@pytest.fixture(scope="module")
def records():
    path = data_folder("roundtrips-dev.jsonl.xz")
    with lzma.open(path, "rt") as lines:
        found = [json.loads(line) for line in lines]
    return [r for r in found if r["get_bodies"] and r["arm_type"].lower() != GROUPS]


@pytest.fixture(scope="module")
def children():
    return children_by_type()


def children_by_type():
    """Collections of children by parent type, both in lower case."""
    types = {k.version().arm_type.lower() for k in builtin().kinds() if k.is_arm}
    found = {}
    for type_ in types:
        parent, _, name = type_.rpartition("/")
        found.setdefault(parent, set()).add(name)
    found.setdefault("microsoft.containerservice/managedclusters", set()).add(
        "agentpoolprofiles"
    )
    return {parent: frozenset(names) for parent, names in found.items()}


def hidden(value):
    if isinstance(value, dict):
        return {name: hidden(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [hidden(inner) for inner in value]
    return HIDDEN if isinstance(value, str) and SECRET.match(value) else value


def compared(record, have, children):
    kinds = children.get(record["arm_type"].lower(), frozenset())
    return differences(hidden(record["put_body"]), have, children=kinds)


def test_few_resources_differ_from_what_was_put(records, children):
    differing = [r for r in records if compared(r, r["get_bodies"][-1], children)]
    assert len(records) == 1243
    assert len(differing) <= MOST


def test_what_was_learnt_once_explains_all_later_reads(records, children):
    """Differences after a PUT are Azure's own wish, and stay what they are."""
    reads = surprises = 0
    for record in records:
        first, *later = record["get_bodies"]
        known = marks(compared(record, first, children))
        for have in later:
            reads += 1
            surprises += not marks(compared(record, have, children)) <= known
    assert reads == 32
    assert surprises == 0


def test_a_body_does_not_differ_from_itself(records):
    for record in records:
        for body in record["get_bodies"]:
            assert differences(body, body) == []


def test_an_order_of_lists_or_case_of_ids_is_no_difference(records, children):
    rng = random.Random(3)

    def respelled(value, name=""):
        if isinstance(value, dict):
            return {key: respelled(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            inner = [respelled(one) for one in value]
            return rng.sample(inner, len(inner)) if len(inner) < 40 else inner
        return value.upper() if name == "id" and isinstance(value, str) else value

    for record in records:
        have = record["get_bodies"][-1]
        before = compared(record, have, children)
        assert len(compared(record, respelled(have), children)) <= len(before)


def leaves(value, path=()):
    """Paths of all declared scalars that say something."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    elif value not in (None, "", 0, False) and not str(value).startswith("{"):
        yield path


def changed(value):
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int | float) else f"{value}-changed"


def put_in(body, path, value):
    for step in path[:-1]:
        body = body[step]
    body[path[-1]] = value


def look_up(body, path):
    for step in path:
        body = body[step]
    return body


def test_changed_values_are_seen(records, children):
    """Declared values are changed one by one in the body that Azure shows."""
    rng = random.Random(5)
    seen = Counter()
    for record in records:
        have = record["get_bodies"][-1]
        properties = record["put_body"].get("properties") or {}
        paths = [("properties", *path) for path in leaves(properties)]
        before = len(compared(record, have, children))
        for path in rng.sample(paths, min(3, len(paths))):
            try:
                value = look_up(have, path)
            except (LookupError, TypeError):
                continue
            if isinstance(value, dict | list) or value is None:
                continue
            mutated = copy_json(have)
            put_in(mutated, path, changed(value))
            seen[len(compared(record, mutated, children)) > before] += 1
    assert seen.total() > 2000
    assert seen[True] / seen.total() > LEAST_SEEN
