"""What holds for the conversion of every kind, between any two of its versions."""

from itertools import pairwise

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schemavalues import values

from asoreconcile.catalogue.conversion import (
    authored_version,
    convert,
    form,
    stored_name,
)
from asoreconcile.catalogue.projection import fits
from asoreconcile.controllers.catalogue import builtin

# The profile `explore` looks further.
SCALE = settings().max_examples // 100
KINDS = [kind for kind in builtin().kinds() if len(kind.versions) > 1]
PAIRS = [
    pair
    for kind in KINDS
    for older, newer in pairwise(kind.versions)
    for pair in ((kind, older, newer), (kind, newer, older))
]


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


@pytest.mark.parametrize("kind", KINDS, ids=str)
@settings(max_examples=2 * SCALE)
@given(data=st.data())
def test_every_adjacent_pair_of_versions_loses_nothing(kind, data):
    for older, newer in pairwise(kind.versions):
        for own, other in ((older, newer), (newer, older)):
            obj = data.draw(objects(kind, own, other))

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

    assert convert(kind, there, own) == obj


@settings(max_examples=60 * SCALE)
@given(data=st.data())
def test_what_is_shown_fits_the_schema_of_the_version(data):
    kind, own, other = data.draw(st.sampled_from(PAIRS), label="pair")
    obj = data.draw(objects(kind, own, other))

    there = carried_back(kind, obj, other)

    for part in ("spec", "status"):
        assert unknown(form(kind, other).schema(part), there[part]) == []


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


@settings(max_examples=60 * SCALE)
@given(data=st.data())
def test_the_stored_form_says_the_same_whichever_version_it_was_read_at(data):
    kind, own, other = data.draw(st.sampled_from(PAIRS), label="pair")
    obj = data.draw(objects(kind, own, other))
    stored = convert(kind, obj, stored_name(kind))

    read = convert(kind, stored, other)

    assert convert(kind, read, stored_name(kind)) == stored


def test_there_are_versions_to_convert_between():
    assert len(KINDS) == 199
    assert len(PAIRS) == 2 * 483
