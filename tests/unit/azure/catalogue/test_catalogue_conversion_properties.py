"""Properties of the conversion of every kind, between any two of its versions."""

import re
from functools import reduce
from itertools import pairwise
from operator import getitem
from random import Random

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schemavalues import seeded, values

from asoreconcile.azure.catalogue.conversion import (
    KindConversionError,
    as_authored,
    authored_version,
    convert,
    form,
    stored_name,
)
from asoreconcile.azure.catalogue.field_renames import field_renames
from asoreconcile.azure.catalogue.field_types import fits
from asoreconcile.azure.catalogue.projection import Projection
from asoreconcile.azure.controllers.catalogue import builtin

# The profile `explore` looks further.
SCALE = settings().max_examples // 100
KINDS = [kind for kind in builtin().kinds() if len(kind.versions) > 1]


@st.composite
def objects(draw, kind, name, other):
    """An object of one version, richest in what the other has not or has otherwise."""
    here, there = form(kind, name), form(kind, other)
    return {
        "apiVersion": f"{kind.group}/{name}",
        "kind": kind.group_kind.kind,
        "metadata": {"name": "it", "namespace": "ns", "annotations": {"a": "b"}},
        "spec": draw(values(here.schema("spec"), there.schema("spec"))),
        "status": draw(values(here.schema("status"), there.schema("status"))),
    }


def carried_back(kind, obj, by):
    """There and back again: the object at the other version, checked on its way."""
    before = orjson.dumps(obj)
    own = obj["apiVersion"].rpartition("/")[2]

    there = convert(kind, obj, by)
    back = convert(kind, there, own)

    assert orjson.dumps(obj) == before
    assert back == obj
    assert there["apiVersion"] == f"{kind.group}/{by}"
    assert authored_version(kind, there) == own
    return there


def drawn(kind, own, other, turn):
    """As `objects`, the same each time, with most of what differs."""
    random = Random(f"{kind.group_kind} {own} {other} {turn}")
    here, there = form(kind, own), form(kind, other)
    return {
        "apiVersion": f"{kind.group}/{own}",
        "kind": kind.group_kind.kind,
        "metadata": {"name": "it", "namespace": "ns"},
        **{
            part: seeded(random, here.schema(part), there.schema(part))
            for part in ("spec", "status")
        },
    }


def with_references(value, at=""):
    """As Azure Service Operator has it: an identity's reference, if only an empty one."""
    if isinstance(value, list):
        if at == "userAssignedIdentities":
            value = [{"reference": {}, **item} for item in value]
        return [with_references(item) for item in value]
    if isinstance(value, dict):
        return {name: with_references(child, name) for name, child in value.items()}
    return value


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_version_goes_into_storage_and_back_without_a_difference(kind):
    """Spec and status, with the fields that only some versions have."""
    pairs = [*pairwise(kind.versions), *((v, kind.storage) for v in kind.versions)]
    both_ways = dict.fromkeys([*pairs, *((b, a) for a, b in pairs)])
    for turn in range(SCALE):
        for own, other in both_ways:
            check_round_trip(kind, drawn(kind, own, other, turn), other)


def check_round_trip(kind, obj, other):
    hub, own = stored_name(kind), obj["apiVersion"].rpartition("/")[2]

    stored = convert(kind, obj, hub)
    read = convert(kind, stored, other)

    assert convert(kind, stored, own) == with_references(obj)
    assert convert(kind, read, hub) == stored
    for part in ("spec", "status"):
        assert unknown(form(kind, other).schema(part), read[part]) == []
    carried_back(kind, obj, other)


@settings(max_examples=60 * SCALE)
@given(data=st.data())
def test_a_way_through_any_versions_and_stored_forms_loses_nothing(data):
    kind = data.draw(st.sampled_from(KINDS), label="kind")
    forms = [*kind.versions, *(v + "storage" for v in kind.versions)]
    own = data.draw(st.sampled_from(kind.versions), label="own")
    way = data.draw(st.lists(st.sampled_from(forms), min_size=1, max_size=4))
    obj = data.draw(objects(kind, own, way[0].removesuffix("storage")))

    there = obj
    for step in way:
        there = convert(kind, there, step)
        assert authored_version(kind, there) == own

    back = convert(kind, there, own)
    # A stored form on the way may add empty references, which mean the same as none.
    # It does not if it keeps the identities in a property bag.
    stored = any(step.endswith("storage") for step in way)
    if stored:
        back, obj = with_references(back), with_references(obj)
    assert back == obj


def misfits(schema, value, at=()):
    """Paths of fields in a value, each with a value of another type than its own."""
    for name, field in schema.get("properties", {}).items():
        if field.get("x-kubernetes-preserve-unknown-fields"):
            continue
        path = (*at, name)
        yield path, 7 if field.get("type") == "string" else "other"
        if isinstance(value.get(name), dict):
            yield from misfits(field, value[name], path)


def is_read_or_refused(kind, stored, path, value):
    """Return whether a reconcile sees the value, or is refused with the field's name."""
    try:
        seen = reduce(getitem, path, as_authored(kind, stored)["spec"])
    except KindConversionError as error:
        said = rf"\b{path[-1]}\b.* (is of another type|holds no JSON)"
        return re.search(said, str(error), re.IGNORECASE)
    return str(seen) == str(value)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_value_of_another_type_is_carried_and_refused_or_sent(kind):
    """Releases differ in types, and the API server does not look at what is stored."""
    for own, other in pairwise([*kind.versions, *reversed(kind.versions)]):
        obj = drawn(kind, own, other, "misfit")
        found = misfits(form(kind, own).schema("spec"), obj["spec"])
        # An id that became a reference has another name, and no other type.
        ids = field_renames(kind.version(own), kind.version()).get((), {})
        path, value = Random(f"{kind} {own}").choice(
            [f for f in found if f[0][-1] not in ids]
        )
        inside = reduce(getitem, path[:-1], obj["spec"])
        inside[path[-1]] = value
        obj["apiVersion"] += "storage"

        read = convert(kind, obj, other, lenient=True)
        back = convert(kind, read, stored_name(kind), lenient=True)

        assert unknown(form(kind, other).schema("spec"), read["spec"]) == []
        for stored in (obj, back):
            assert is_read_or_refused(kind, stored, path, value)


def unknown(schema, value, at=""):
    """Paths in a value that a schema's API server would prune, or refuse by type."""
    if schema.get("x-kubernetes-preserve-unknown-fields") or value is None:
        return []
    if not fits(schema, value):
        return [at]
    found = []
    if isinstance(value, dict):
        inner = schema.get("additionalProperties")
        for name, child in value.items():
            known = inner or schema.get("properties", {}).get(name)
            found += (
                [f"{at}.{name}"]
                if known is None
                else unknown(known, child, f"{at}.{name}")
            )
    if isinstance(value, list):
        for child in value:
            found += unknown(schema["items"], child, f"{at}[]")
    return found


def test_there_are_versions_to_convert_between():
    assert len(KINDS) == 199
    assert sum(len(kind.versions) - 1 for kind in KINDS) == 483


class Thorough(Projection):
    """Takes every value apart."""

    def _stays(self, value, schema, own, at):
        return False


@pytest.mark.parametrize("kind", KINDS[::5], ids=str)
def test_what_stays_as_it_is_would_have_been_taken_apart_for_nothing(kind):
    for own, other in pairwise([*kind.versions, *reversed(kind.versions)]):
        obj = drawn(kind, own, other, "stays")
        for source, target in (
            (form(kind, own), form(kind, other)),
            (form(kind, own), form(kind, stored_name(kind))),
            (form(kind, own + "storage"), form(kind, other)),
        ):
            how = {"from_stored": source.stored, "to_stored": target.stored}
            moves = field_renames(source.version, target.version)
            for part in ("spec", "status"):
                here, there = source.schema(part), target.schema(part)
                assert Projection(moves, **how).project(
                    obj[part], there, here
                ) == Thorough(moves, **how).project(obj[part], there, here)
