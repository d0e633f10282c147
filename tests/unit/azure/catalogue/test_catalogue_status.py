"""From ARM's answer to a status."""

import lzma

import orjson
import pytest
from datafolder import data_folder

from asoreconcile.azure.catalogue.problems import schema_problems
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind


def status(kind, body, version=""):
    group, _, name = kind.partition("/")
    return status_of(builtin().kind(GroupKind(group, name)).version(version), body)


VNET = "network.azure.com/VirtualNetwork"


ADDRESSES = {"addressPrefixes": ["10.0.0.0/8"]}
REDIS, VAULT = "cache.azure.com/Redis", "keyvault.azure.com/Vault"
GROUP, SECRET = "apimanagement.azure.com/Group", "cdn.azure.com/Secret"


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        # From the body, then from its properties
        (VNET, {"id": "/x", "location": "westus",
                "properties": {"location": "inner", "addressSpace": ADDRESSES}},
         {"id": "/x", "location": "westus", "addressSpace": ADDRESSES}),
        (REDIS, {"properties": {"primaryKey": "secret", "newer": 1}, "kind": "x"}, {}),
        # Properties that are not flattened, and so not searched
        (VAULT, {"name": "v", "properties": {"vaultUri": "https://v", "location": "w"}},
         {"name": "v", "properties": {"vaultUri": "https://v"}}),
        # Renamed fields
        (GROUP, {"type": "Microsoft.X/y", "properties": {"type": "custom"}},
         {"type": "Microsoft.X/y", "properties_type": "custom"}),
        (GROUP, {"properties": {"type": "custom"}}, {"properties_type": "custom"}),
        ("insights.azure.com/Workbook", {"tags": {"a": "b"}, "properties": {"tags": ["c"]}},
         {"tags": {"a": "b"}, "properties_tags": ["c"]}),
        ("cdn.azure.com/Rule", {"properties": {"conditions": [], "order": 1}},
         {"ruleconditions": [], "order": 1}),
        # Conditions of the root are the reconciler's
        (VNET, {"conditions": [{"type": "Ready"}]}, {}),
        (VNET, {"properties": {"conditions": []}}, {}),
        # Unions, by their discriminators
        *((SECRET, {"properties": {"parameters": {"type": said, "subject": "cn"}}},
           {"parameters": {"managedCertificate": {"type": said, "subject": "cn"}}})
          for said in ("ManagedCertificate", "managedcertificate")),
        (SECRET, {"properties": {"parameters": {"type": "Newer", "subject": "cn"}}},
         {"parameters": {}}),
        ("kusto.azure.com/Database", {"name": "cluster/db", "kind": "ReadWrite",
         "location": "westus", "properties": {"hotCachePeriod": "P1D"}},
         {"name": "cluster/db", "readWrite": {"kind": "ReadWrite", "location": "westus",
                                              "hotCachePeriod": "P1D"}}),
        # A property that is called like a leaf tells no leaf.
        ("kusto.azure.com/Database",
         {"name": "n", "kind": "Newer", "readWrite": {"location": "westus"}}, {"name": "n"}),
        # Items of another type, and answers without an object
        (VNET, {"tags": {"a": "b", "c": 1}, "properties": {}}, {"tags": {"a": "b"}}),
        (VNET, {"properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/8", 1, None, {}]}}},
         {"addressSpace": ADDRESSES}),
        (VNET, None, {}),
        (VNET, [], {}),
        (VNET, "text", {}),
    ],
)  # fmt: skip
def test_what_an_answer_shows(kind, body, expected):
    assert status(kind, body) == expected


def test_conditions_below_the_root_are_mapped():
    rule = {"name": "r", "conditions": [{"name": "IsDevice", "parameters": {}}]}
    body = {"properties": {"deliveryPolicy": {"rules": [rule]}}}

    mapped = status("cdn.azure.com/ProfilesEndpoint", body)

    assert mapped["deliveryPolicy"]["rules"][0]["conditions"] == [
        {"isDevice": {"name": "IsDevice", "parameters": {}}}
    ]


def test_identities_stay_a_map():
    identities = {"/id": {"clientId": "c", "principalId": "p"}}
    body = {"identity": {"type": "UserAssigned", "userAssignedIdentities": identities}}

    mapped = status("cache.azure.com/Redis", body)

    assert mapped["identity"]["userAssignedIdentities"] == identities


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (4, {"flowTimeoutInMinutes": 4}),
        (4.0, {"flowTimeoutInMinutes": 4}),
        (4.5, {}),
        ("4", {}),
        (True, {}),
        (None, {}),
        ({}, {}),
    ],
)
def test_values_of_another_type_are_left_out(value, expected):
    assert status(VNET, {"properties": {"flowTimeoutInMinutes": value}}) == expected


def test_the_body_is_not_shared():
    body = {"tags": {"a": "b"}, "properties": {"addressSpace": {"addressPrefixes": []}}}
    mapped = status(VNET, body)

    mapped["tags"]["c"] = "d"
    mapped["addressSpace"]["addressPrefixes"].append("x")

    assert body == {
        "tags": {"a": "b"},
        "properties": {"addressSpace": {"addressPrefixes": []}},
    }


def test_recorded_answers_give_statuses_the_schema_accepts():
    versions = {}
    for kind in builtin().kinds():
        for name in kind.versions if kind.is_arm else ():
            version = kind.version(name)
            versions[version.arm_type.lower(), version.api_version] = version
    mapped = 0
    with lzma.open(data_folder("roundtrips-dev.jsonl.xz")) as lines:
        for line in lines:
            record = orjson.loads(line)
            key = record["arm_type"].lower(), record["api_version"]
            for body in record["get_bodies"] if key in versions else ():
                schema = versions[key].schema["properties"]["status"]
                result = status_of(versions[key], body)
                assert list(schema_problems(schema, result, "status")) == []
                assert result.get("id", body["id"]) == body["id"]
                mapped += 1
    assert mapped > 1500


@pytest.mark.parametrize("odd", [1e300, -1e300, 2**63, -(2**63) - 1, 2**64 - 1, 1.5])
def test_a_number_that_is_no_integer_of_the_api_servers_is_left_out(odd):
    """A status with one could not be written, or would be refused each time."""
    body = {"id": "/x", "properties": {"flowTimeoutInMinutes": odd}}
    assert status(VNET, body) == {"id": "/x"}
    for whole in (4.0, 2**63 - 1, -(2**63)):
        body["properties"]["flowTimeoutInMinutes"] = whole
        found = status(VNET, body)["flowTimeoutInMinutes"]
        assert (found, type(found)) == (whole, int)
