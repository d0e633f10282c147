"""Embedded children: kept, filtered, merged."""

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.middleware.factories import ChildMerge, keep_children, writable
from asoreconcile.azure.middleware.requests import ModifyPayload
from asoreconcile.azure.testing.extensions import (
    FakeArm,
    fake_ctx,
    fake_version,
    returns,
)
from asoreconcile.base.objects import copy_json

OLD = {"name": True, "properties": {"size": True, "peer": {"id": True}}}
NEW = {"name": True, "properties": {"size": True, "colour": True}}
SHAPES = {"2022-01-01": OLD, "2024-01-01": NEW}


def child(name, **properties):
    return {"name": name, "properties": properties}


def kept(payload, raw, rule=ChildMerge.REPLACE, version="2022-01-01", **options):
    modify = keep_children("properties.kids", shapes=SHAPES, rule=rule, **options)
    before = copy_json(payload)
    ctx = fake_ctx(fake_version(version), raw=raw)
    result = modify(ModifyPayload(ctx, {}, payload), returns(payload))
    assert payload == before
    return result


def test_azures_children_go_into_the_payload():
    raw = {"properties": {"kids": [child("a", size=1)], "other": 1}}
    assert kept({"location": "x", "properties": {"y": 1}}, raw) == {
        "location": "x",
        "properties": {"y": 1, "kids": [child("a", size=1)]},
    }


def test_replace_ignores_what_the_payload_has():
    raw = {"properties": {"kids": [child("a")]}}
    result = kept({"properties": {"kids": [child("b")]}}, raw)
    assert result["properties"]["kids"] == [child("a")]


def test_merge_puts_the_specs_first_then_azures_with_other_names():
    raw = {"properties": {"kids": [child("B", size=9), child("b", size=9)]}}
    result = kept(
        {"properties": {"kids": [child("b", size=1)]}}, raw, ChildMerge.MERGE_BY_NAME
    )
    assert result["properties"]["kids"] == [child("b", size=1), child("B", size=9)]


def test_merge_into_a_payload_without_the_list():
    result = kept({}, {"properties": {"kids": [child("a")]}}, ChildMerge.MERGE_BY_NAME)
    assert result == {"properties": {"kids": [child("a")]}}


@pytest.mark.parametrize(
    "raw", [None, {"properties": {"kids": []}}], ids=["404", "no children"]
)
def test_without_children_the_payload_stays(raw):
    assert kept({"properties": {"y": 1}}, raw) == {"properties": {"y": 1}}


def test_before_the_id_is_known_nothing_is_asked():
    modify = keep_children("properties.kids", shapes=SHAPES, rule=ChildMerge.REPLACE)
    req = ModifyPayload(fake_ctx(arm=FakeArm(), arm_id=""), {}, {"a": 1})
    assert modify(req, returns({"a": 1})) == {"a": 1}


@pytest.mark.parametrize(
    "raw",
    [{}, {"properties": {}}, {"properties": {"kids": None}}],
    ids=["no parent", "no list", "null"],
)
def test_an_answer_without_the_list_is_an_error_rather_than_a_deletion(raw):
    with pytest.raises(ConditionError, match=r"properties\.kids"):
        kept({}, raw)


def test_a_parent_may_be_absent_where_azure_leaves_it_out():
    assert kept({"a": 1}, {}, parent_may_be_absent=True) == {"a": 1}
    with pytest.raises(ConditionError):
        kept({"a": 1}, {"properties": {}}, parent_may_be_absent=True)


@pytest.mark.parametrize(
    ("version", "fields"),
    [
        ("2021-01-01", {"size"}),
        ("2022-01-01", {"size"}),
        ("2023-06-01", {"size"}),
        ("2024-01-01", {"size", "colour"}),
        ("2030-01-01", {"size", "colour"}),
    ],
)
def test_an_api_version_is_like_the_older_known_one(version, fields):
    raw = {"properties": {"kids": [child("a", size=1, colour="red")]}}
    result = kept({}, raw, version=version)
    assert set(result["properties"]["kids"][0]["properties"]) == fields


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"name": "a", "etag": "W/1"}, {"name": "a"}),
        ({"NAME": "a"}, {"NAME": "a"}),
        ({"name": None, "properties": {}}, {"properties": {}}),
        (
            {"properties": {"size": [], "peer": {"id": "i", "location": "x"}}},
            {"properties": {"peer": {"id": "i"}}},
        ),
        (
            {"properties": {"peer": [{"id": "i", "x": 1}, {"id": "j"}]}},
            {"properties": {"peer": [{"id": "i"}, {"id": "j"}]}},
        ),
        ({"properties": {"size": {"any": ["thing"]}}},) * 2,
    ],
    ids=["unknown", "case", "null", "empty list", "list items", "free-form"],
)
def test_the_writable_part_of_a_value(value, expected):
    assert writable(value, OLD) == expected


@pytest.mark.parametrize("state", ["Deleting", "deleting"])
def test_children_on_their_way_out_are_not_sent(state):
    raw = {"properties": {"kids": [child("a", provisioningState=state), child("b")]}}
    assert kept({}, raw)["properties"]["kids"] == [child("b")]


@pytest.mark.parametrize(
    ("etag", "required_etag"),
    [
        ('W/"1"', 'W/"1"'),
        ('"a-b"', '"a-b"'),
        ("", ""),
        (None, ""),
        ("1b0d3131", ""),  # no header takes it so
        ('"a" "b"', ""),
        ('"a\r\nX: y"', ""),
        (7, ""),
    ],
)
def test_the_put_rests_on_what_was_read(etag, required_etag):
    modify = keep_children("properties.kids", shapes=SHAPES, rule=ChildMerge.REPLACE)
    ctx = fake_ctx(raw={"etag": etag, "properties": {"kids": []}})
    modify(ModifyPayload(ctx, {}, {}), returns({}))
    assert ctx.required_etag == required_etag


def test_a_put_of_what_azure_does_not_have_rests_on_nothing():
    modify = keep_children("properties.kids", shapes=SHAPES, rule=ChildMerge.REPLACE)
    ctx = fake_ctx(raw=None)
    modify(ModifyPayload(ctx, {}, {}), returns({}))
    assert ctx.required_etag is None
