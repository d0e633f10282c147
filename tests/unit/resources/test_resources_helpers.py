"""Helpers for dicts also take objects of a class, and misuse is named."""

import attrs
import pytest

from asoreconcile.base.objects import is_deleting, key_of
from asoreconcile.kube.conditions import condition_of, set_condition
from asoreconcile.kube.create_or_patch import create_or_patch, patch_object
from asoreconcile.kube.finalizers import (
    add_finalizer,
    has_finalizer,
    remove_finalizer,
)
from asoreconcile.kube.owners import is_controlled_by, remove_owner, set_owner
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.kube.selection import Selection
from asoreconcile.resources.class_fields import ResourceError
from asoreconcile.resources.declaration import resource
from asoreconcile.resources.metadata import Conditions, ObjectMeta
from asoreconcile.resources.typed_kind import from_dict, to_dict

HELD = "example.com/held"


@attrs.define
class HelpedStatus:
    conditions: Conditions = attrs.field(factory=list)


@resource("example.com/v1", plural="helpeds")
@attrs.define
class Helped:
    metadata: ObjectMeta
    status: HelpedStatus = attrs.field(factory=HelpedStatus)


@resource("example.com/v1", plural="fixeds")
@attrs.frozen
class Fixed:
    metadata: ObjectMeta


@pytest.fixture
def obj():
    document = {
        "metadata": {"name": "a", "namespace": "default", "uid": "1", "generation": 3},
        "status": {"others": "field"},
    }
    return from_dict(Helped, document)


def test_readers_take_an_object_of_a_class(obj):
    assert key_of(obj) == obj.metadata.key
    assert not is_deleting(obj)
    assert condition_of(obj, "Ready") is None
    assert not has_finalizer(obj, HELD)


def test_helpers_change_it_in_place_and_say_whether(obj):
    assert add_finalizer(obj, HELD)
    assert not add_finalizer(obj, HELD)
    assert obj.metadata.finalizers == [HELD]
    assert remove_finalizer(obj, HELD)
    assert obj.metadata.finalizers == []
    assert set_condition(obj, "Ready", "True", "Done", "all is well")
    assert not set_condition(obj, "Ready", "True", "Done", "all is well")
    (ready,) = obj.status.conditions
    assert (ready.reason, ready.observed_generation) == ("Done", 3)
    assert to_dict(obj)["status"]["others"] == "field"


def test_an_owner_of_a_class_owns_dicts_and_objects(obj):
    child = from_dict(Helped, {"metadata": {"name": "b", "namespace": "default"}})
    for one in (child, {"metadata": {"name": "c", "namespace": "default"}}):
        assert set_owner(one, obj)
        assert is_controlled_by(one, obj)
        assert remove_owner(one, obj)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: is_deleting("a"), "'a' is not an object: give a dict"),
        (lambda: add_finalizer(Fixed(ObjectMeta()), HELD), "Fixed cannot be changed"),
        (lambda: set_condition(Fixed(ObjectMeta()), "R", "True", "D"), "has no status"),
        (lambda: set_condition({}, "Ready", True, "Done"), 'give "True", "False"'),
        (lambda: Selection("configmaps"), "resource is 'configmaps': give ApiResource"),
        (
            lambda: patch_object(None, CONFIG_MAPS, Helped(ObjectMeta()), print),
            "call client.update(obj, change) with a Helped",
        ),
        (
            lambda: create_or_patch(None, Helped, key_of({}), print),
            "call client.create_or_update(obj, change) with a Helped",
        ),
    ],
)
def test_misuse_names_what_to_give(call, said):
    with pytest.raises(TypeError) as raised:
        call()
    assert said in str(raised.value)


def test_a_decorator_without_its_arguments_shows_them():
    with pytest.raises(ResourceError, match=r'write @resource\(.*plural="helpeds"\)'):
        resource(Helped)
    with pytest.raises(ResourceError, match='give one in lower case, as plural="'):
        resource("example.com/v1")
