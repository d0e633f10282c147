"""Merge patches: the smallest one, and what it does (RFC 7386)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asoreconcile.base import jsontext
from asoreconcile.base.objects import copy_json
from asoreconcile.kube.patch import apply_merge_patch, merge_patch

values = st.recursive(
    st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)
documents = st.dictionaries(st.text(max_size=2), values, max_size=4)


@given(before=documents, after=documents)
def test_patch_turns_before_into_after(before, after):
    patch = merge_patch(before, after)
    assert apply_merge_patch(before, patch or {}) == after


@given(document=documents)
def test_nothing_to_do_is_none(document):
    assert merge_patch(document, copy_json(document)) is None


@given(before=documents, after=documents)
def test_neither_side_is_changed(before, after):
    kept = copy_json(before), copy_json(after)
    apply_merge_patch(before, merge_patch(before, after) or {})
    assert (before, after) == kept


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, {"b": 2}),
        ({"a": 1}, {}, {"a": None}),
        ({"a": 1}, {"a": None}, {"a": None}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"x": 1, "y": 3}}, {"a": {"y": 3}}),
        ({"a": [1, 2]}, {"a": [1, 3]}, {"a": [1, 3]}),
        ({"a": 1}, {"a": True}, {"a": True}),
        ({"a": [0]}, {"a": [False]}, {"a": [False]}),
        ({"a": 1}, {"a": 1.0}, None),
    ],
)
def test_smallest_patch(before, after, patch):
    assert merge_patch(before, after) == patch


def deep(levels, leaf):
    return jsontext.loads('{"a":' * levels + leaf + "}" * levels)


@pytest.mark.parametrize("levels", [90, 101, 1200])
def test_objects_nested_deep_are_patched_where_they_differ(levels):
    """A patch that named a whole object would leave in it what is there no more."""
    before = {"x": deep(levels, '{"gone":1,"kept":2}'), "y": 1}
    after = {"x": deep(levels, '{"kept":2,"new":3}'), "y": 1}
    patch = merge_patch(before, after)
    change = '{"gone":null,"new":3}'
    text = '{"x":' + '{"a":' * levels + change + "}" * levels + "}"
    assert jsontext.loads(jsontext.dumps(patch)) == jsontext.loads(text)
    assert apply_merge_patch(before, jsontext.loads(text)) == after
    assert merge_patch(before, copy_json(before)) is None


def test_what_gets_deeper_is_patched_too():
    before, after = {"x": deep(90, "1")}, {"x": deep(300, "1")}
    assert apply_merge_patch(before, merge_patch(before, after)) == after
    assert apply_merge_patch(after, merge_patch(after, before)) == before
