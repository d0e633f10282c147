"""Declarations that can never work are refused at once, with the name of the argument."""

from datetime import UTC, datetime

import attrs
import pytest

from asoreconcile import (
    Conversions,
    ObjectMeta,
    Schema,
    from_dict,
    resource,
    set_condition,
    to_dict,
    update_condition,
)
from asoreconcile.resources.class_fields import ResourceError
from asoreconcile.resources.typed_kind import kind_of

ZONELESS = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)


@pytest.mark.parametrize(
    ("keywords", "named"),
    [
        ({"multiple_of": 0}, "multiple_of"),
        ({"multiple_of": -1}, "multiple_of"),
        ({"multiple_of": "2"}, "multiple_of"),
        ({"minimum": 5, "maximum": 3}, "minimum is 5, above maximum"),
        ({"minimum": 5, "maximum": 5, "exclusive_minimum": True}, "excluded"),
        ({"minimum": float("nan")}, "minimum"),
        ({"minimum": "1"}, "minimum"),
        ({"min_length": -1}, "min_length"),
        ({"max_length": 1.5}, "max_length"),
        ({"min_length": 5, "max_length": 3}, "min_length is 5, above max_length"),
        ({"enum": "abc"}, "enum"),
        ({"map_keys": "name"}, "map_keys"),
        ({"pattern": 5}, "pattern"),
    ],
)
def test_keywords_that_no_value_meets_are_refused_by_name(keywords, named):
    with pytest.raises((TypeError, ValueError), match=named):
        Schema(**keywords)


def test_a_class_that_was_refused_is_no_resource():
    class Wrong:
        metadata: ObjectMeta
        spec: set[str] = attrs.field(factory=set)

    wrong = attrs.define(Wrong, slots=False)
    with pytest.raises(ResourceError):
        resource("example.com/v1", plural="wrongs")(wrong)
    with pytest.raises(ResourceError, match="is no resource"):
        kind_of(wrong)


@attrs.define
class Sized:
    size: int = 1


@resource("example.com/v1", plural="gadgets", storage=True)
@attrs.define
class Gadget:
    metadata: ObjectMeta
    spec: Sized = attrs.field(factory=Sized)


@resource("example.com/v2", plural="gadgets")
@attrs.define
class GadgetB:
    metadata: ObjectMeta


@resource("example.com/v2", plural="gadgets", kind="Gadget")
@attrs.define
class NewGadget:
    metadata: ObjectMeta


def test_classes_of_two_kinds_are_told_how_to_be_one():
    with pytest.raises(ResourceError, match=r'kind="Gadget".*above GadgetB'):
        Conversions(Gadget, GadgetB)
    with pytest.raises(ResourceError, match="two or more"):
        Conversions(Gadget)


def test_what_is_lost_is_told_of_typed_objects_too():
    conversions = Conversions(Gadget, NewGadget)

    @conversions.add
    def newer(old: Gadget) -> NewGadget:
        return NewGadget(old.metadata)

    @conversions.add
    def older(new: NewGadget) -> Gadget:
        return Gadget(new.metadata)

    gadget = Gadget(ObjectMeta(name="a"), Sized(7))
    lost = {"spec": {"size": 7}}
    assert conversions.lost(gadget, "example.com/v2") == lost
    assert conversions.lost(gadget, NewGadget) == lost
    assert conversions.lost(to_dict(gadget), NewGadget) == lost


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("Ready", "True", "not one word"), "reason"),
        (("Ready", "True", ""), "reason"),
        (("Ready", "True", "1st"), "reason"),
        (("Ready", "True", "x" * 1025), "reason"),
        (("Ready", "True", "line\n"), "reason"),
        (("not ready", "True", "Fine"), "type"),
        (("", "True", "Fine"), "type"),
        (("Ready", "True", None), "reason"),
        (("Ready", "True", "Fine", None), "message"),
        (("Ready", "Maybe", "Fine"), "status"),
    ],
)
def test_a_condition_that_a_crd_refuses_is_refused_by_name(arguments, named):
    for call in (
        lambda: set_condition({}, *arguments),
        lambda: update_condition([], *arguments),
    ):
        with pytest.raises((TypeError, ValueError), match=f"^{named} is"):
            call()


def test_a_condition_s_time_has_a_zone_and_its_message_fits():
    with pytest.raises(ValueError, match="now"):
        set_condition({}, "Ready", "True", "Fine", now=ZONELESS)
    obj = {"status": {"conditions": None}}
    assert set_condition(obj, "Ready", "True", "Fine", "x" * 40_000)
    assert len(obj["status"]["conditions"][0]["message"]) == 32_768


def test_a_default_of_another_type_is_refused():
    @attrs.define
    class Bad:
        size: int = "1"

    @attrs.define
    class Holder:
        metadata: ObjectMeta
        spec: Bad = attrs.field(factory=Bad)

    with pytest.raises(ResourceError, match=r"Bad\.size: its default"):
        resource("example.com/v1", plural="bads")(Holder)


def test_an_object_that_was_read_goes_out_as_it_came():
    document = to_dict(Gadget(ObjectMeta(name="a"), Sized(7)))
    assert to_dict(from_dict(Gadget, document)) == document
