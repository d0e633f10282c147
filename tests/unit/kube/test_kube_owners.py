"""Owner references and finalizers, put on and taken off."""

import pytest

from asoreconcile.kube.finalizers import (
    add_finalizer,
    has_ended,
    has_finalizer,
    remove_finalizer,
)
from asoreconcile.kube.owners import (
    AlreadyOwnedError,
    controller_of,
    is_controlled_by,
    owner_reference,
    remove_owner,
    set_owner,
)

NAME = "example.com/release"


def thing(name, *, kind="Parent", version="v1", uid=None, namespace="n"):
    return {
        "apiVersion": f"example.com/{version}",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "uid": uid or f"u-{name}"},
    }


def test_reference_names_the_owner():
    assert owner_reference(thing("a"), controller=True, block_deletion=True) == {
        "apiVersion": "example.com/v1",
        "kind": "Parent",
        "name": "a",
        "uid": "u-a",
        "controller": True,
        "blockOwnerDeletion": True,
    }


def test_owner_without_a_uid_is_refused():
    with pytest.raises(ValueError, match="from the server"):
        owner_reference({"kind": "Parent", "metadata": {"name": "a"}})


def test_set_owner_adds_once():
    child = thing("c", kind="Child")
    assert set_owner(child, thing("a"))
    assert not set_owner(child, thing("a"))
    assert set_owner(child, thing("b"), controller=False)
    names = [one["name"] for one in child["metadata"]["ownerReferences"]]
    assert names == ["a", "b"]


def test_set_owner_renews_a_reference_to_an_owner_made_anew():
    child = thing("c", kind="Child")
    set_owner(child, thing("a", uid="old"))
    assert set_owner(child, thing("a", uid="new", version="v2"))
    (reference,) = child["metadata"]["ownerReferences"]
    assert (reference["uid"], reference["apiVersion"]) == ("new", "example.com/v2")


def test_an_owner_is_named_once_and_where_it_was_named_first():
    child = thing("c", kind="Child")
    owners = (thing("a", uid="old"), thing("b"), thing("a", uid="older"))
    references = [owner_reference(one, controller=False) for one in owners]
    child["metadata"]["ownerReferences"] = references
    assert set_owner(child, thing("a", uid="new"), controller=False)
    uids = [one["uid"] for one in child["metadata"]["ownerReferences"]]
    assert uids == ["new", "u-b"]


def test_second_controller_is_refused_and_changes_nothing():
    child = thing("c", kind="Child")
    set_owner(child, thing("a"), controller=True)
    with pytest.raises(AlreadyOwnedError, match="Parent a"):
        set_owner(child, thing("b"), controller=True)
    assert controller_of(child)["name"] == "a"
    assert set_owner(child, thing("b"), controller=False)


@pytest.mark.parametrize("namespace", ["m", ""])
def test_owner_of_another_namespace_is_refused(namespace):
    child = thing("c", kind="Child", namespace=namespace)
    with pytest.raises(ValueError, match="cannot own"):
        set_owner(child, thing("a"))


def test_cluster_scoped_owner_may_own_anything():
    assert set_owner(thing("c", kind="Child"), thing("a", namespace=""))


def test_remove_owner_leaves_the_others():
    child = thing("c", kind="Child")
    set_owner(child, thing("a"))
    set_owner(child, thing("b"), controller=False)
    assert remove_owner(child, thing("a"))
    assert not remove_owner(child, thing("a"))
    assert [one["name"] for one in child["metadata"]["ownerReferences"]] == ["b"]


def test_controlled_by_goes_by_uid():
    child = thing("c", kind="Child")
    assert not is_controlled_by(child, thing("a"))
    set_owner(child, thing("a"), controller=True)
    assert is_controlled_by(child, thing("a"))
    assert not is_controlled_by(child, thing("a", uid="another"))


def test_nothing_is_controlled_by_what_is_not_on_the_server_yet():
    child = thing("c", kind="Child")
    child["metadata"]["ownerReferences"] = [{"kind": "Parent", "controller": True}]
    owner = thing("a")
    owner["metadata"]["uid"] = ""
    child["metadata"]["ownerReferences"][0]["uid"] = ""
    assert not is_controlled_by(child, owner)


def test_finalizer_goes_on_and_off_once():
    obj = thing("a")
    assert add_finalizer(obj, "example.com/other")
    assert add_finalizer(obj, NAME)
    assert not add_finalizer(obj, NAME)
    assert has_finalizer(obj, NAME)
    assert remove_finalizer(obj, NAME)
    assert not remove_finalizer(obj, NAME)
    assert obj["metadata"]["finalizers"] == ["example.com/other"]


def test_finalizers_of_a_copy_are_its_own():
    """Accessors give the object's own list: helpers must not change it in place."""
    first = ["example.com/other"]
    obj = {"metadata": {"name": "a", "finalizers": first}}
    add_finalizer(obj, NAME)
    assert first == ["example.com/other"]


GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("meta", "spec", "ended"),
    [
        ({}, {}, False),
        (GOING, {}, True),
        ({**GOING, "finalizers": []}, {}, True),
        ({**GOING, "finalizers": [NAME]}, {}, False),
        (GOING, {"finalizers": ["kubernetes"]}, False),
        ({**GOING, "deletionGracePeriodSeconds": 0}, {}, True),
        ({**GOING, "deletionGracePeriodSeconds": 30}, {}, False),
    ],
)
def test_an_object_ends_with_the_write_that_leaves_nothing_to_hold_it(
    meta, spec, ended
):
    assert has_ended({"metadata": meta, "spec": spec}) is ended
