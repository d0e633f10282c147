"""Ignored fields on recorded traffic keep the values of another writer. Rule: OW-2."""

import json
import lzma
import random

import attrs
import pytest
from datafolder import data_folder

from asoreconcile.azure.catalogue.arm_to_spec import to_spec
from asoreconcile.azure.catalogue.body_shape import body_shape
from asoreconcile.azure.catalogue.ignored_fields import ignored_field
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.middleware.declared import Declared
from asoreconcile.azure.reconcile.model.decisions import Put, Read
from asoreconcile.azure.reconcile.model.differences import differences
from asoreconcile.azure.reconcile.model.drift_baseline import (
    DriftBaseline,
    RepairAttempts,
    loads,
    marks,
)
from asoreconcile.azure.reconcile.model.merged_body import MergeRules, merged
from asoreconcile.azure.reconcile.model.snapshot import snapshot
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.sync.drift import SyncFacts, at_sync
from asoreconcile.base.objects import copy_json

DRAWS = 2500
SEED = 2911
FOREIGN = "set-by-somebody-else"


@pytest.fixture(scope="module")
def records():
    versions = {k.version().arm_type.lower(): k.version() for k in builtin().kinds()}
    with lzma.open(data_folder("roundtrips-dev.jsonl.xz"), "rt") as lines:
        found = [json.loads(line) for line in lines]
    return [
        (versions[one["arm_type"].lower()], one["put_body"], one["get_bodies"][-1])
        for one in found
        if one["get_bodies"] and one["arm_type"].lower() in versions
    ]


def leaves(value, path="spec"):
    """Yield the paths of a spec's texts in the spec's words."""
    if isinstance(value, dict) and {"armId", "wellKnownName"} & {*value}:
        yield path
    elif isinstance(value, dict) and {*value} != {"name", "key"}:  # a secret's place
        for name, inner in value.items():
            step = f'["{name}"]' if not name.isalnum() else f".{name}"
            yield from leaves(inner, path + step)
    elif isinstance(value, list):
        for element in value:
            if isinstance(element, dict) and isinstance(element.get("name"), str):
                yield from leaves(element, f"{path}[name={element['name']}]")
    elif isinstance(value, str) and not path.endswith(
        (".name", ".location", ".azureName")
    ):
        yield path


def set_at(value, steps):
    """Set the place of an ignored field by hand; return whether it is there."""
    step, *rest = steps
    if isinstance(value, list):
        found = [one for one in value if not isinstance(step, str) and step.is_of(one)]
        return bool(found) and bool(rest) and set_at(found[0], rest)
    name = next((n for n in value if n.casefold() == str(step).casefold()), None)
    if name is None:
        return False
    if rest:
        return isinstance(value[name], dict | list) and set_at(value[name], rest)
    value[name] = FOREIGN
    return True


def facts(version, body, have, rules, observed):
    found = merged(body, have, rules, Declared())
    rest = snapshot(body_shape(version), body, found.shown, left=rules.digest)
    differing = differences(found.wanted, have)
    facts = SyncFacts(
        SyncMode.COMPARE,
        "put",
        observed,
        RepairAttempts(),
        have,
        differing,
        rest=rest,
    )
    return facts, found


def test_ow2_a_foreign_value_survives_sync_restart_edit_and_takeover(records):
    draw, drawn = random.Random(SEED), 0
    known = {}
    for _ in range(20 * DRAWS):
        if drawn == DRAWS:
            break
        index = draw.randrange(len(records))
        version, body, have = records[index]
        if index not in known:
            own, theirs = (
                [*leaves(to_spec(version, one, name="x", secret_name="x").spec)]
                for one in (body, have)
            )
            # A part of an element that the spec does not declare is not sent alone.
            known[index] = [*own, *(path for path in theirs if "[name=" not in path)]
        if not known[index]:
            continue
        field = ignored_field(version, draw.choice(known[index]))
        changed = copy_json(have)
        if not set_at(changed, field.steps):
            continue
        drawn += 1
        rules = MergeRules(ignored=(field,))
        before, _ = facts(version, body, have, rules, None)
        record = DriftBaseline("put", marks(before.found), rest=before.rest)
        put = Put("/x", body, record)
        # A sync, and one after a restart: nothing differs, so nothing is sent.
        now, found = facts(version, body, changed, rules, loads(record.dumps()))
        assert isinstance(at_sync(now, put).then, Read), field.text
        # An edit and a takeover: the PUT has the foreign value.
        edited = {**copy_json(body), "tags": {"edited": str(drawn)}}
        for sent in (found.body, merged(edited, changed, rules, Declared()).body):
            assert FOREIGN in json.dumps(sent), field.text
        taken = attrs.evolve(now, observed=None)
        then = at_sync(taken, attrs.evolve(put, body=found.body)).then
        assert isinstance(then, Read) or FOREIGN in json.dumps(then.body)
    assert drawn == DRAWS
