"""What a class does not name is not deleted by a copy that has forgotten it."""

from typing import Annotated

import attrs
import pytest

from asoreconcile.resources.annotations import Schema
from asoreconcile.resources.client import TypedWrites
from asoreconcile.resources.declaration import resource
from asoreconcile.resources.metadata import ObjectMeta
from asoreconcile.resources.typed_kind import from_dict


@attrs.frozen
class Part:
    name: str
    size: int = 1


@attrs.frozen
class Spec:
    host: str
    one: Part | None = None
    by_name: dict[str, Part] = attrs.field(factory=dict)
    keyed: Annotated[list[Part], Schema(map_keys=["name"])] = attrs.field(factory=list)
    plain: list[Part] = attrs.field(factory=list)


@resource("example.com/v1", plural="sites")
@attrs.frozen
class Site:
    metadata: ObjectMeta
    spec: Spec


class Client(TypedWrites):
    """Notes what would be sent."""

    def __init__(self):
        self.sent = []

    def send(self, write):
        self.sent.append(write.body)
        return document()

    def get(self, resource, key):
        raise NotImplementedError

    def delete_all(self, what, **options):
        raise NotImplementedError


def document():
    part = {"name": "a", "size": 1, "new": 1}
    return {
        "apiVersion": "example.com/v1",
        "kind": "Site",
        "metadata": {"name": "s", "resourceVersion": "7", "managedFields": []},
        "odd": {"deep": True},
        "spec": {
            "host": "h",
            "new": [1],
            "one": part,
            "byName": {"x": part, "y": part},
            "keyed": [part, {"name": "b", "size": 2, "new": 2}],
            "plain": [part],
        },
    }


def patch_of(change):
    client = Client()
    client.update(from_dict(Site, document()), change)
    if not client.sent:
        return None
    (body,) = client.sent
    assert body.pop("metadata") == {"resourceVersion": "7"}
    return body


def test_a_copy_by_other_means_deletes_nothing_it_does_not_name():
    assert patch_of(
        lambda site: attrs.evolve(site, spec=attrs.evolve(site.spec, host="other"))
    ) == {"spec": {"host": "other"}}


def test_new_instances_of_what_is_there_delete_nothing_either():
    def change(site):
        spec = attrs.evolve(
            site.spec,
            one=Part("a", 5),
            by_name={"x": Part("a", 5), "z": Part("z")},
            keyed=[Part("b", 5), Part("c")],
        )
        return Site(ObjectMeta(name="s", resource_version="7"), spec)

    assert patch_of(change) == {
        "spec": {
            "one": {"size": 5},
            "byName": {"x": {"size": 5}, "y": None, "z": {"name": "z", "size": 1}},
            "keyed": [
                {"name": "b", "size": 5, "new": 2},
                {"name": "c", "size": 1},
            ],
        }
    }


def test_what_is_taken_away_whole_stays_away():
    def change(site):
        return attrs.evolve(
            site, spec=attrs.evolve(site.spec, one=None, by_name={}, keyed=[])
        )

    patch = patch_of(change)["spec"]
    assert (patch["one"], patch["keyed"]) == (None, None)


def test_nothing_is_written_where_nothing_differs():
    assert (
        patch_of(lambda site: attrs.evolve(site, spec=attrs.evolve(site.spec))) is None
    )


def test_an_object_that_was_not_read_is_refused():
    with pytest.raises(ValueError, match="was not read: create it"):
        Client().update(Site(ObjectMeta(name="s"), Spec("h")), lambda site: site)
