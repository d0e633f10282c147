"""Members of catalogue files kept as text."""

import sys

import pytest

from asoreconcile.azure.catalogue.kinds import LazyJson
from asoreconcile.azure.catalogue.shapes import Shapes

MEMBERS = {"a": {"properties": {"x": "string"}}, "b": ["Ä", 1.5, None]}


def test_members_read_as_they_were_given():
    packed = LazyJson(MEMBERS)
    assert dict(packed) == MEMBERS
    assert (len(packed), "a" in packed, "c" in packed) == (2, True, False)
    with pytest.raises(KeyError, match="c"):
        packed["c"]


def test_who_changes_what_it_was_given_changes_nothing():
    packed = LazyJson(MEMBERS)
    packed["a"]["properties"].clear()
    assert packed["a"] == MEMBERS["a"]


def test_a_member_keeps_no_more_than_its_text():
    packed = LazyJson({"a": "x" * 100})
    assert sum(map(sys.getsizeof, packed._texts.values())) < 102 + 50


def test_a_shape_is_decoded_once():
    shapes = Shapes(LazyJson({"s1": "@s2", "s2": MEMBERS["a"]}))
    assert shapes.resolve("@s1") == MEMBERS["a"]
    assert shapes.resolve("@s1") is shapes.resolve("@s2")
