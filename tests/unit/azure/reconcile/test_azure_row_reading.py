"""When a row of Resource Graph stands for a GET: never if a change could stay unseen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asoreconcile.azure.reconcile.state.row_reading import RowReading
from asoreconcile.base.objects import copy_json

ID = "/subscriptions/s/resourceGroups/Web/providers/Microsoft.Network/virtualNetworks/n"
BODY = {
    "id": ID,
    "name": "n",
    "type": "Microsoft.Network/virtualNetworks",
    "location": "westeurope",
    "etag": 'W/"1"',
    "systemData": {"lastModifiedBy": "somebody"},
    "tags": {},
    "properties": {
        "provisioningState": "Succeeded",
        "addressSpace": {"addressPrefixes": ["10.0.0.0/16"]},
        "subnets": [{"id": f"{ID}/subnets/a", "etag": "1", "properties": {"x": 1}}],
    },
}
ROW = {
    "id": ID.lower(),
    "name": "N",
    "type": "microsoft.network/virtualnetworks",
    "location": "West Europe",
    "kind": "",
    "tags": None,
    "sku": None,
    "properties": {
        "provisioningState": "Succeeded",
        "addressSpace": {"addressPrefixes": ["10.0.0.0/16"]},
        "subnets": [{"id": f"{ID}/subnets/a", "properties": {"x": 1, "later": []}}],
        "later": {"of": 1},
    },
}
CHANGES = [
    ("properties", {**ROW["properties"], "provisioningState": "Failed"}),
    ("properties", {**ROW["properties"], "later": {"of": 2}}),
    ("tags", {"a": "b"}),
    ("kind", "other"),
    ("sku", {"name": "x"}),
]


def test_q9_a_row_that_shows_all_makes_the_body_that_the_get_answered():
    reading = RowReading.learnt(ROW, BODY)
    assert reading.body_of(copy_json(ROW)) == BODY


@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_q9_a_row_that_changed_makes_none(name, value):
    reading = RowReading.learnt(ROW, BODY)
    assert reading.body_of({**ROW, name: value}) is None


def leaves(value, at=()):
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from leaves(inner, (*at, name))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from leaves(inner, (*at, index))
    else:
        yield at


DECIDED = [
    path
    for path in leaves(ROW)
    if path[0] in ("properties", "location") and "later" not in path
]


@pytest.mark.parametrize("path", DECIDED)
@pytest.mark.parametrize("change", ["missing", "other", "type"])
def test_q9_a_row_that_lacks_or_shows_otherwise_what_the_get_does_is_not_learnt(
    path, change
):
    row = copy_json(ROW)
    inside = row
    for step in path[:-1]:
        inside = inside[step]
    if change == "missing":
        del inside[path[-1]]
    else:
        inside[path[-1]] = "elsewhere" if change == "other" else [inside[path[-1]]]
    assert RowReading.learnt(row, BODY) is None


def test_q9_one_and_true_are_not_the_same():
    body = {**BODY, "properties": {"enabled": True}}
    assert RowReading.learnt({**ROW, "properties": {"enabled": 1}}, body) is None


def test_q9_what_would_need_much_to_be_kept_is_not_learnt():
    body = {**BODY, "properties": {str(n): None for n in range(3)}}
    row = {**ROW, "properties": {f"{n * 7919}": n for n in range(20_000)}}
    assert RowReading.learnt(row, body) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "A"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "etag"]), inner, max_size=3)
    ),
    max_leaves=12,
)
BODIES = st.dictionaries(st.sampled_from(["id", "tags", "properties"]), JSON)


@given(BODIES, BODIES)
def test_q9_what_is_learnt_always_makes_the_get_s_body(row, body):
    reading = RowReading.learnt(row, body)
    if reading is not None:
        assert reading.body_of(copy_json(row)) == body


@given(BODIES)
def test_q9_a_body_shows_all_of_itself(body):
    assert RowReading.learnt(body, body).body_of(copy_json(body)) == body
