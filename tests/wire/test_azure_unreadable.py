"""An object that cannot be read says so itself, and nothing else happens to it."""

import attrs
import pytest
from world import World, resource_group

from asoreconcile.azure.catalogue.conversion import KindConversionError
from asoreconcile.azure.reconcile.model.annotations import OPERATOR_NAMESPACE
from asoreconcile.base.objects import key_of
from asoreconcile.cache.unreadable import Unreadable, known_of

GROUPS = "resources.azure.com/ResourceGroup"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        running.install(GROUPS)
        yield running


class Unread:
    """A stored form with something in it that nobody wrote."""

    def __init__(self, form):
        self._form = form

    def read(self, kept):
        if kept["metadata"]["name"] == "bad":
            raise KindConversionError("a $propertyBag holds no JSON")
        return self._form.read(kept)

    def __getattr__(self, name):
        return getattr(self._form, name)


def remake(world, obj, **changed):
    kind = world.kind_of(obj)
    world._kinds[kind.version.group_kind] = attrs.evolve(kind, **changed)


def not_cached(world, obj):
    """The object's kind as an informer has it that had to leave the object out."""
    stored = world.read(obj)
    kind = world.kind_of(obj)
    found = Unreadable(
        kind.resource, key_of(stored), known_of(stored, kind.resource), "it is broken"
    )
    remake(world, obj, unreadable=lambda: {found.key: found})
    world.reader = lambda kind: Nothing()


class Nothing:
    def get(self, _key):
        return None


def test_an_object_that_is_not_in_the_cache_says_why(world):
    obj = resource_group("bad")
    world.apply(obj)
    not_cached(world, obj)
    world.run(obj)
    ready = world.ready(obj)
    assert (ready["status"], ready["reason"]) == ("False", "Unreadable")
    assert "it is broken" in ready["message"]
    assert ready["observedGeneration"] == 1
    assert [e[:3] for e in world.events] == [("bad", "Warning", "Unreadable")]
    assert world.azure.journal == []
    version = world.read(obj)["metadata"]["resourceVersion"]
    not_cached(world, obj)
    world.run(obj)
    assert world.read(obj)["metadata"]["resourceVersion"] == version
    assert len(world.events) == 1


def test_an_object_that_cannot_be_converted_says_why_and_others_go_on(world):
    obj = resource_group("bad")
    world.apply(obj)
    remake(world, obj, form=Unread(world.kind_of(obj).form))
    result = world.run(obj)
    ready = world.ready(obj)
    assert (ready["status"], ready["reason"]) == ("False", "Unreadable")
    assert "holds no JSON" in ready["message"]
    assert result.requeue_after_seconds is None
    world.settled(resource_group("good"))


def test_another_operators_object_is_left_alone(world):
    obj = resource_group("bad")
    obj["metadata"]["annotations"] = {OPERATOR_NAMESPACE: "elsewhere"}
    world.apply(obj)
    not_cached(world, obj)
    world.run(obj)
    assert world.ready(obj) is None
    assert world.events == []


def test_an_object_that_is_gone_meanwhile_is_no_trouble(world):
    obj = resource_group("bad")
    world.apply(obj)
    not_cached(world, obj)
    world.delete(obj)
    world.apply(obj)
    world.run(obj)
    assert world.ready(obj) is None
