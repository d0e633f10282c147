"""What a PUT may write of a resource, by the tables of its kind."""

import pytest

from asoreconcile.azure.catalogue.body_shape import body_shape
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind


def shape(group, kind):
    return body_shape(builtin().kind(GroupKind(f"{group}.azure.com", kind)).version())


def test_what_a_put_may_not_write_is_left_out():
    body = {
        "id": "/x",
        "location": "westeurope",
        "Properties": {"provisioningState": "Succeeded"},
        "tags": {"Team": "red"},
    }
    found = shape("resources", "ResourceGroup").writable(body)
    assert found["tags"] == {"Team": "red"}
    assert not {"id", "location"} & {*found}


def test_names_are_found_in_any_case():
    network = shape("network", "VirtualNetwork")
    body = {"PROPERTIES": {"addressSPACE": {"AddressPrefixes": ["10.0.0.0/8"]}}}
    space = network.writable(body)["properties"]["addressspace"]
    assert space["addressprefixes"] == ["10.0.0.0/8"]


def test_values_that_come_from_secrets_are_left_out():
    server = shape("dbforpostgresql", "FlexibleServer")
    body = {"properties": {"administratorLoginPassword": "Sesame", "version": "16"}}
    properties = server.writable(body)["properties"]
    assert "Sesame" not in str(properties)
    assert properties["version"] == "16"


def test_what_no_field_is_for_and_azure_takes_is_in_it():
    queue = shape("servicebus", "NamespacesQueue")
    properties = queue.writable({"properties": {"status": "Disabled"}})["properties"]
    assert properties["status"] == "Disabled"


@pytest.mark.parametrize(
    ("group", "kind", "path"),
    [
        ("resources", "ResourceGroup", "tags"),
        ("containerservice", "ManagedClustersAgentPool", "properties/nodelabels"),
        ("network", "VirtualNetwork", "tags"),
    ],
)
def test_maps_with_names_of_their_authors_are_known(group, kind, path):
    assert path in shape(group, kind).free_maps


def test_a_shape_is_made_once_and_each_kind_has_its_own():
    assert shape("network", "VirtualNetwork") is shape("network", "VirtualNetwork")
    digests = {shape("network", k).digest for k in ("VirtualNetwork", "RouteTable")}
    assert len(digests) == 2


def test_each_kind_has_one_whatever_its_types_hold():
    kinds = [kind for kind in builtin().kinds() if kind.is_arm]
    bodies = {"properties": {"x": [{}], "y": {"z": None}}, "tags": {"a": "b"}}
    for kind in kinds:
        found = body_shape(kind.version())
        assert len(found.digest) == 4
        assert isinstance(found.writable(bodies), dict)
