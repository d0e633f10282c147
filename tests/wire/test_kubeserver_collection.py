"""What goes with what: owners and dependants, namespaces and their content, CRDs.

As the garbage collector and the namespace controller of a cluster do it, but at once.
"""

import pytest
from kubeapi import kube_server

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
NAMESPACES = "/api/v1/namespaces"


@pytest.fixture
def client():
    with kube_server() as (_, client):
        yield client


def owner_of(obj, **more):
    meta = obj["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": meta["name"],
        "uid": meta["uid"],
        **more,
    }


def make(client, name, *owners, path=CONFIG_MAPS, **meta):
    body = {"metadata": {"name": name, **meta}}
    if owners:
        body["metadata"]["ownerReferences"] = list(owners)
    return client.post(path, body).expect(201).json


def exists(client, name, path=CONFIG_MAPS):
    return client.get(f"{path}/{name}").status == 200


def test_dependants_go_with_their_owner_through_generations(client):
    owner = make(client, "owner")
    child = make(client, "child", owner_of(owner))
    make(client, "grandchild", owner_of(child), path=SECRETS)
    client.delete(f"{CONFIG_MAPS}/owner").expect(200)
    assert not exists(client, "child")
    assert not exists(client, "grandchild", SECRETS)


def test_one_owner_that_lives_keeps_a_dependant_which_names_it_alone_then(client):
    first, second = make(client, "first"), make(client, "second")
    make(client, "child", owner_of(first), owner_of(second))
    client.delete(f"{CONFIG_MAPS}/first").expect(200)
    child = client.get(f"{CONFIG_MAPS}/child").expect(200).json
    names = [o["name"] for o in child["metadata"]["ownerReferences"]]
    assert names == ["second"]
    client.delete(f"{CONFIG_MAPS}/second").expect(200)
    assert not exists(client, "child")


def test_an_owner_of_another_uid_is_none(client):
    first = make(client, "owner")
    make(client, "child", owner_of(first))
    client.delete(f"{CONFIG_MAPS}/owner", {"propagationPolicy": "Orphan"}).expect(200)
    make(client, "owner")
    make(client, "late", owner_of(first))
    assert exists(client, "child")
    assert not exists(client, "late")


def test_what_names_an_owner_that_never_was_goes(client):
    nobody = {"metadata": {"name": "nobody", "uid": "0-0-0"}}
    made = make(client, "child", owner_of(nobody))
    assert made["metadata"]["uid"]
    assert not exists(client, "child")
    make(client, "held", owner_of(nobody), finalizers=["x.example.com/y"])
    held = client.get(f"{CONFIG_MAPS}/held").expect(200).json
    assert held["metadata"]["deletionTimestamp"]


def test_an_orphaned_dependant_stays_and_names_no_owner(client):
    owner = make(client, "owner")
    make(client, "child", owner_of(owner))
    client.delete(f"{CONFIG_MAPS}/owner", {"propagationPolicy": "Orphan"}).expect(200)
    assert not exists(client, "owner")
    child = client.get(f"{CONFIG_MAPS}/child").expect(200).json
    assert "ownerReferences" not in child["metadata"]


def test_in_the_foreground_an_owner_waits_for_those_that_block_it(client):
    owner = make(client, "owner")
    blocking = owner_of(owner, blockOwnerDeletion=True)
    make(client, "child", blocking, finalizers=["x.example.com/y"])
    make(client, "free", owner_of(owner))
    policy = {"propagationPolicy": "Foreground"}
    waiting = client.delete(f"{CONFIG_MAPS}/owner", policy).expect(200).json
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    child = client.get(f"{CONFIG_MAPS}/child").expect(200).json
    assert child["metadata"]["deletionTimestamp"]
    assert exists(client, "owner")
    client.patch(f"{CONFIG_MAPS}/child", {"metadata": {"finalizers": None}}).expect(200)
    for name in ("owner", "child", "free"):
        assert not exists(client, name), name


def test_in_the_background_an_owner_does_not_wait(client):
    owner = make(client, "owner")
    blocking = owner_of(owner, blockOwnerDeletion=True)
    make(client, "child", blocking, finalizers=["x.example.com/y"])
    client.delete(f"{CONFIG_MAPS}/owner", {"propagationPolicy": "Background"})
    assert not exists(client, "owner")
    assert exists(client, "child")


def test_a_namespace_ends_with_its_content_and_takes_nothing_more(client):
    client.post(NAMESPACES, {"metadata": {"name": "short"}}).expect(201)
    path = f"{NAMESPACES}/short/configmaps"
    make(client, "one", path=path)
    make(client, "held", path=path, finalizers=["x.example.com/y"])
    ending = client.delete(f"{NAMESPACES}/short").expect(200).json
    assert ending["status"]["phase"] == "Terminating"
    assert not exists(client, "one", path)
    answer = client.post(path, {"metadata": {"name": "late"}})
    refused = answer.refused(403, "Forbidden")
    assert refused["message"].endswith(
        "unable to create new content in namespace short because it is being terminated"
    )
    assert refused["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    client.patch(f"{path}/held", {"metadata": {"finalizers": None}}).expect(200)
    client.get(f"{NAMESPACES}/short").expect(404)
    client.post(NAMESPACES, {"metadata": {"name": "short"}}).expect(201)


def test_nothing_is_created_where_there_is_no_namespace(client):
    answer = client.post(
        f"{NAMESPACES}/nowhere/configmaps", {"metadata": {"name": "x"}}
    )
    assert answer.refused(404, "NotFound")["message"] == (
        'namespaces "nowhere" not found'
    )
