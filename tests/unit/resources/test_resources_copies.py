"""Copies of typed objects keep what their class does not name, or may not replace it."""

import copy
import dataclasses
import pickle
from typing import Annotated, Any

import attrs
import pydantic
import pytest

from asoreconcile import ObjectMeta, Schema, evolve, from_dict, resource, to_dict
from asoreconcile.base.objects import copy_json
from asoreconcile.kube.writes import Writes
from asoreconcile.resources.client import TypedWrites
from asoreconcile.resources.values import parse_duration_text, parse_time


@attrs.define
class AttrsPart:
    name: str


@resource("example.com/v1", plural="attrssites")
@attrs.define
class AttrsSite:
    metadata: ObjectMeta
    one: AttrsPart
    parts: list[AttrsPart] = attrs.field(factory=list)


@attrs.frozen
class FrozenPart:
    name: str


@resource("example.com/v1", plural="frozensites")
@attrs.frozen
class FrozenSite:
    metadata: ObjectMeta
    one: FrozenPart
    parts: list[FrozenPart] = attrs.field(factory=list)


@dataclasses.dataclass
class DataPart:
    name: str


@resource("example.com/v1", plural="datasites")
@dataclasses.dataclass(slots=True, weakref_slot=True)
class DataSite:
    metadata: ObjectMeta
    one: DataPart
    parts: list[DataPart] = dataclasses.field(default_factory=list)


class ModelPart(pydantic.BaseModel):
    name: str


@resource("example.com/v1", plural="modelsites")
class ModelSite(pydantic.BaseModel):
    metadata: ObjectMeta
    one: ModelPart
    parts: list[ModelPart] = []


SITES: Any = [AttrsSite, FrozenSite, DataSite, ModelSite]
PARTS: Any = {
    AttrsSite: AttrsPart,
    FrozenSite: FrozenPart,
    DataSite: DataPart,
    ModelSite: ModelPart,
}


def document(cls):
    part = {"name": "a", "theirs": 1}
    return {
        "apiVersion": "example.com/v1",
        "kind": cls.__name__,
        "metadata": {"name": "s", "resourceVersion": "7", "managedFields": []},
        "odd": {"deep": True},
        "one": {**part},
        "parts": [{**part}, {"name": "b"}],
    }


@pytest.fixture
def sent(monkeypatch):
    """The documents that were to replace others."""
    found = []

    def replace(_self, _resource, obj, **_options):
        found.append(copy_json(obj))
        return obj

    monkeypatch.setattr(Writes, "replace", replace)
    return found


class Client(TypedWrites):
    def send(self, write):
        raise NotImplementedError

    def get(self, resource, key):
        raise NotImplementedError

    def delete_all(self, what, **options):
        raise NotImplementedError


def pickled(obj):
    return pickle.loads(pickle.dumps(obj))


def copied_twice(obj):
    return copy.deepcopy(pickled(copy.copy(obj)))


COPIES = [copy.copy, copy.deepcopy, pickled, evolve, copied_twice]


@pytest.mark.parametrize("cls", SITES)
@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_is_as_whole_as_what_was_read(sent, cls, copied):
    made = copied(from_dict(cls, document(cls)))
    assert to_dict(made) == document(cls)
    Client().replace(cls, made)
    assert sent == [document(cls)]


@pytest.mark.parametrize("deep", [False, True])
def test_a_models_own_copy_is_whole(sent, deep):
    site = from_dict(ModelSite, document(ModelSite))
    made = site.model_copy(deep=deep, update={"parts": [site.parts[0]]})
    Client().replace(ModelSite, made)
    whole = document(ModelSite)
    assert sent == [{**whole, "parts": whole["parts"][:1]}]


def rebuilt(site):
    return type(site)(metadata=site.metadata, one=site.one, parts=site.parts)


def rebuilt_within(site):
    part = PARTS[type(site)]
    return evolve(site, one=part(name="c"))


def rebuilt_in_a_list(site):
    part = PARTS[type(site)]
    return evolve(site, parts=[part(name="c"), site.parts[1]])


@pytest.mark.parametrize("cls", SITES)
@pytest.mark.parametrize(
    ("other", "says"),
    [
        (rebuilt, "all of them"),
        (rebuilt_within, ".one.theirs"),
        (rebuilt_in_a_list, r".parts\[\]"),
    ],
)
def test_another_copy_may_not_replace_what_was_read(sent, cls, other, says):
    site = from_dict(cls, document(cls))
    with pytest.raises(ValueError, match=says):
        Client().replace(cls, other(site))
    assert not sent


@pytest.mark.parametrize(
    "other",
    [attrs.evolve, lambda site: attrs.evolve(site, parts=[])],
)
def test_a_copy_of_attrs_may_not_replace_what_was_read(sent, other):
    with pytest.raises(ValueError, match="use update"):
        Client().replace(AttrsSite, other(from_dict(AttrsSite, document(AttrsSite))))
    assert not sent


@pytest.mark.parametrize("cls", SITES)
def test_items_may_be_added_and_taken_away(sent, cls):
    site = from_dict(cls, document(cls))
    Client().replace(cls, evolve(site, parts=[*site.parts, PARTS[cls](name="c")]))
    Client().replace(cls, evolve(site, parts=[site.parts[1]]))
    assert [len(one["parts"]) for one in sent] == [3, 1]


@attrs.define
class Whole:
    """A class with an object inside, in lists and maps of any depth."""

    inside: AttrsPart


@resource("example.com/v1", plural="deepsites")
@attrs.define
class DeepSite:
    metadata: ObjectMeta
    mapped: dict[str, list[AttrsPart]] = attrs.field(factory=dict)
    listed: list[list[AttrsPart]] = attrs.field(factory=list)
    twice: dict[str, dict[str, AttrsPart]] = attrs.field(factory=dict)
    keyed: dict[str, Annotated[list[AttrsPart], Schema(map_keys=("name",))]] = (
        attrs.field(factory=dict)
    )
    maybe: list[AttrsPart | None] = attrs.field(factory=list)
    whole: list[Whole] = attrs.field(factory=list)


DEEP: Any = {
    "mapped": (lambda x: {"a": [x]}, lambda site: site.mapped["a"][0]),
    "listed": (lambda x: [[x]], lambda site: site.listed[0][0]),
    "twice": (lambda x: {"a": {"b": x}}, lambda site: site.twice["a"]["b"]),
    "keyed": (lambda x: {"a": [x]}, lambda site: site.keyed["a"][0]),
    "maybe": (lambda x: [x, None], lambda site: site.maybe[0]),
    "whole": (lambda x: [{"inside": x, "mine": 1}], lambda site: site.whole[0].inside),
}


def deep_site(field):
    part = {"name": "a", "theirs": 1}
    meta = {"name": "s", "resourceVersion": "7"}
    found = from_dict(DeepSite, {"metadata": meta, field: DEEP[field][0](part)})
    part = DEEP[field][1](found)
    return found, part


@pytest.mark.parametrize("field", DEEP)
def test_a_copy_at_any_depth_may_not_replace_what_was_read(sent, field):
    site, part = deep_site(field)
    setattr(site, field, rebuilt_around(getattr(site, field), part, copy.copy(part)))
    Client().replace(DeepSite, site)
    assert "theirs" in str(sent.pop())
    part = DEEP[field][1](site)
    setattr(site, field, rebuilt_around(getattr(site, field), part, attrs.evolve(part)))
    with pytest.raises(ValueError, match=rf"\.{field}"):
        Client().replace(DeepSite, site)


def rebuilt_around(value, part, other):
    """Return lists, maps and objects with another object in the place of a part."""
    if value is part:
        return other
    if isinstance(value, Whole):
        return evolve(value, inside=other)
    if isinstance(value, dict):
        return {k: rebuilt_around(one, part, other) for k, one in value.items()}
    return value and [rebuilt_around(one, part, other) for one in value]


@attrs.define
class Rebuilding:
    """A class whose converter makes its parts again."""

    name: str


@resource("example.com/v1", plural="rebuilders")
@attrs.define
class Rebuilder:
    metadata: ObjectMeta
    one: Rebuilding = attrs.field(converter=attrs.evolve)


def test_what_a_converter_has_made_again_may_not_replace_what_was_read(sent):
    site = from_dict(Rebuilder, {**document(Rebuilder), "parts": []})
    with pytest.raises(ValueError, match=r"\.one\.theirs"):
        Client().replace(Rebuilder, site)
    assert not sent


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_times_and_durations_keep_their_text(copied):
    time = parse_time("2026-01-31T12:00:00.123456789+02:00")
    duration = parse_duration_text("90m")
    assert copied(time).text == time.text  # type: ignore[attr-defined]
    assert copied(duration).text == duration.text  # type: ignore[attr-defined]
    assert (copied(time), copied(duration)) == (time, duration)
