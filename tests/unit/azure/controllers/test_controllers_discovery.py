"""Which version a kind runs at, by what the cluster serves."""

import pytest

from asoreconcile.azure.catalogue.conversion import KindConversionError
from asoreconcile.azure.catalogue.storage_codec import (
    HubVersionCodec,
    SingleVersionCodec,
    kept_stored,
    storage_codec_of,
)
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.discovery import (
    OldServerError,
    discover,
    read_names,
    served_in,
)
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.base.objects import GroupKind
from asoreconcile.kube.errors import ApiError

VNET = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
ALL = [*VNET.versions, *(f"{v}storage" for v in VNET.versions)]


class Cluster:
    """An API server with one discovery document, or none."""

    def __init__(self, document):
        self.document = document

    def read(self, path, *, accept):
        if path == "/version":
            return {"gitVersion": "v1.29.3"}
        if isinstance(self.document, Exception):
            raise self.document
        return self.document


@pytest.mark.parametrize(
    "answer",
    [
        {"kind": "APIGroupList", "groups": []},
        {},
        ApiError("only JSON is known", status=406),
    ],
)
def test_an_api_server_that_is_too_old_is_refused(answer):
    why = "Kubernetes v1.29.3: 1.30 is the least that works"
    with pytest.raises(OldServerError, match=why):
        discover(Cluster(answer), builtin())
    with pytest.raises(ApiError):
        discover(Cluster(ApiError("busy", status=503)), builtin())


def served(*names, converts, stored=None):
    resource = {"responseKind": {"kind": VNET.group_kind.kind}}
    document = {
        "kind": "APIGroupDiscoveryList",
        "items": [
            {
                "metadata": {"name": VNET.group},
                "versions": [{"version": n, "resources": [resource]} for n in names],
            }
        ],
    }
    found = served_in(
        read_names(Cluster(document)),
        builtin(),
        converts=converts,
        stored=stored and {VNET.group_kind: stored},
    )
    return found.versions.get(VNET.group_kind), found.refused.get(VNET.group_kind, "")


@pytest.mark.parametrize("converts", [True, False])
def test_one_version_is_run_as_it_is(converts):
    version, refused = served("v1api20240301", converts=converts)

    assert version is VNET.version("v1api20240301")
    assert not refused
    assert resource_of(version).version == "v1api20240301"
    assert storage_codec_of(version, VNET) == SingleVersionCodec(version)


@pytest.mark.parametrize(
    "names",
    [("v20250301", "v20250301storage"), ALL],
    ids=["ours", "azure-service-operator-s"],
)
def test_a_stored_form_is_what_is_watched(names):
    version, refused = served(*names, converts=True)

    assert not refused
    assert version is kept_stored(VNET)
    assert resource_of(version).version == "v20250301storage"
    assert version.gvk == VNET.version().gvk
    assert storage_codec_of(version, VNET) == HubVersionCodec(VNET, "v20250301storage")


def test_the_form_of_an_older_release_is_what_is_watched():
    names = ("v1api20201101storage", "v1api20240301", "v1api20240301storage")
    version, refused = served(*names, converts=True)

    assert not refused
    assert version is kept_stored(VNET, "v1api20240301storage")
    assert resource_of(version).version == "v1api20240301storage"
    form = storage_codec_of(version, VNET)
    assert form == HubVersionCodec(VNET, "v1api20240301storage")
    kept = {
        "apiVersion": "network.azure.com/v1api20240301storage",
        "kind": "VirtualNetwork",
        "metadata": {"name": "it", "namespace": "ns"},
        "spec": {"location": "x", "originalVersion": "v1api20201101"},
    }
    obj = form.read(kept)
    assert obj["apiVersion"] == "network.azure.com/v1api20201101"
    assert form.status({**obj, "status": {"id": "/x"}}) == {"id": "/x"}


@pytest.mark.parametrize(
    ("names", "converts", "why"),
    [
        (ALL, False, "run the manager with --webhook-port"),
        (("v20250301", "v20990101"), True, "does not know: v20990101; a rollback"),
        (("v20990101", "v20990101storage"), True, "20990101, v20990101storage; a roll"),
    ],
    ids=["nobody-converts", "newer", "newer-form"],
)
def test_what_cannot_be_run_is_refused_with_a_reason(names, converts, why):
    version, refused = served(*names, converts=converts)

    assert version is None
    assert why in refused


def test_a_version_in_which_nothing_is_stored_keeps_no_kind_from_running():
    """A rollback over one release leaves the CRDs so."""
    names = ("v20990101", *ALL)
    version, refused = served(*names, converts=True, stored=["v20250301storage"])
    assert (version, refused) == (kept_stored(VNET), "")
    version, refused = served(*names, converts=True, stored=["v20990101"])
    assert version is None
    assert "a rollback is possible over one release only" in refused


def test_an_object_is_read_in_its_author_s_version_and_its_status_kept_stored():
    form = HubVersionCodec(VNET, "v20250301storage")
    kept = {
        "apiVersion": "network.azure.com/v20250301storage",
        "kind": "VirtualNetwork",
        "metadata": {"name": "it", "namespace": "ns", "annotations": {"a": "b"}},
        "spec": {"location": "x", "originalVersion": "v1api20240301"},
        "status": {"id": "/x", "$propertyBag": {"Old": "1"}},
    }

    obj = form.read(kept)

    assert obj["apiVersion"] == "network.azure.com/v1api20240301"
    assert form.version(obj) is VNET.version("v1api20240301")
    seen = {"id": "/x", "conditions": [{"type": "Ready"}], "novelty": 1}
    assert form.status({**obj, "status": seen}) == {
        "id": "/x",
        "conditions": [{"type": "Ready"}],
        "$propertyBag": {"Novelty": "1"},
    }


def test_an_object_whose_bag_cannot_be_read_is_not_acted_upon():
    """A PUT without the field would take it out of the resource."""
    kept = {
        "apiVersion": "network.azure.com/v20250301storage",
        "kind": "VirtualNetwork",
        "metadata": {"name": "it", "namespace": "ns"},
        "spec": {"$propertyBag": {"AddressSpace": "{"}},
    }

    with pytest.raises(KindConversionError, match="AddressSpace"):
        HubVersionCodec(VNET, "v20250301storage").read(kept)
