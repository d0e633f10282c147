"""A fingerprint of what Azure has: what changes it, and what does not."""

import pytest

from asoreconcile.azure.catalogue.body_shape import body_shape
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.model.snapshot import is_comparable, snapshot
from asoreconcile.base.objects import GroupKind, copy_json

WANT = {
    "location": "westeurope",
    "properties": {"agentPoolProfiles": [{"name": "mine", "count": 1}]},
}
HAVE = {
    "id": "/subscriptions/s/x",
    "eTag": "1",
    "location": "westeurope",
    "tags": {"team": "red"},
    "properties": {
        "provisioningState": "Succeeded",
        "currentKubernetesVersion": "1.31.4",
        "apiServerAccessProfile": {"authorizedIPRanges": ["10.0.0.0/16", "10.1.0.0/8"]},
        "enableRBAC": False,
        "agentPoolProfiles": [
            {"name": "mine", "count": 1, "maxPods": 30},
            {"name": "other", "count": 5},
        ],
    },
}
RANGES = "authorizedIPRanges"


def cluster():
    group = "containerservice.azure.com"
    kind = builtin().kind(GroupKind(group, "ManagedCluster"))
    return body_shape(kind.version())


def taken(have, shape=None):
    return snapshot(
        shape or cluster(), WANT, have, children=frozenset({"agentpoolprofiles"})
    )


def changed(change):
    have = copy_json(HAVE)
    change(have)
    return taken(have)


def ranges(body):
    return body["properties"]["apiServerAccessProfile"][RANGES]


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h["properties"].update(enableRBAC=True),
        lambda h: h["properties"].pop("enableRBAC"),
        lambda h: ranges(h).pop(),
        lambda h: h["tags"].update(by="hand"),
        lambda h: h.pop("tags"),
        lambda h: h["properties"]["agentPoolProfiles"][0].update(maxPods=31),
        lambda h: h["properties"]["agentPoolProfiles"].pop(0),
        lambda h: h.pop("properties"),
    ],
    ids=[
        *("value", "false gone", "element", "map key", "map"),
        *("in a declared child", "declared child", "all"),
    ],
)
def test_a_change_that_a_put_might_have_made_is_seen(change):
    assert changed(change) != taken(HAVE)


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.update(eTag="2", id="/SUBSCRIPTIONS/s/x"),
        lambda h: h["properties"].update(
            provisioningState="Failed", currentKubernetesVersion="1.31.5"
        ),
        lambda h: ranges(h).reverse(),
        lambda h: h["properties"].update(EnableRBAC=h["properties"].pop("enableRBAC")),
        lambda h: h["properties"].update(dnsPrefix=None, networkProfile={}),
        lambda h: h["properties"]["agentPoolProfiles"].pop(1),
        lambda h: h["tags"].update(team="RED"),
    ],
    ids=["envelope", "read-only", "order", "case", "empty", "another's child", "text"],
)
def test_what_is_no_change_is_none(change):
    assert changed(change) == taken(HAVE)


def test_snapshots_of_another_making_are_not_compared():
    group = builtin().kind(GroupKind("resources.azure.com", "ResourceGroup"))
    other = taken(HAVE, body_shape(group.version()))
    assert len(other) <= 24
    assert is_comparable(taken(HAVE), taken({}))
    assert not is_comparable(taken(HAVE), other)
    assert not is_comparable("", "")
