"""Private endpoints are ready once their manual connections are approved."""

import pytest
from extensions_chains import composed, cr, group_kind, version

from asoreconcile.azure.middleware.extension_points import (
    EXPORT_CONFIG_MAPS,
    POST_RECONCILE,
)
from asoreconcile.azure.middleware.requests import (
    Export,
    ExportConfigMaps,
    NotReady,
    PostReconcile,
    Ready,
)
from asoreconcile.azure.testing.extensions import FakeArm, fake_ctx

KIND = "network/PrivateEndpoint"
OWN = version(KIND).api_version


def connection(id_, state):
    return {"id": id_, "privateLinkServiceConnectionState": {"status": state}}


def checked(status, next_=Ready()):  # noqa: B008 - frozen
    extensions = composed({POST_RECONCILE: lambda req: next_})
    chain = extensions.chain(POST_RECONCILE, group_kind(KIND))
    ctx = fake_ctx(version(KIND))
    return chain(PostReconcile(ctx, cr(KIND, status=status)))


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"manualPrivateLinkServiceConnections": []},
        {"manualPrivateLinkServiceConnections": [connection("/a", "Approved")]},
        {"privateLinkServiceConnections": [connection("/auto", "Pending")]},
    ],
    ids=["none", "empty", "approved", "only automatic ones"],
)
def test_ready(status):
    assert checked(status) == Ready()


@pytest.mark.parametrize("state", ["Pending", "Rejected", "Disconnected", "approved"])
def test_not_ready_names_the_connection_and_its_state(state):
    answer = checked({"manualPrivateLinkServiceConnections": [connection("/a", state)]})
    assert isinstance(answer, NotReady)
    assert f"/a ({state})" in answer.message


def test_one_message_names_all_that_wait():
    answer = checked(
        {
            "manualPrivateLinkServiceConnections": [
                connection("/a", "Pending"),
                connection("/b", "Approved"),
                connection("/c", "Rejected"),
            ]
        }
    )
    assert "/a (Pending), /c (Rejected)" in answer.message
    assert "/b" not in answer.message


@pytest.mark.parametrize(
    "one",
    [
        {"id": "/a"},
        {"id": "/a", "privateLinkServiceConnectionState": None},
        {"id": "/a", "privateLinkServiceConnectionState": {}},
    ],
    ids=["no state", "null", "empty"],
)
def test_b12_a_connection_without_a_state_waits_and_does_not_break(one):
    answer = checked({"manualPrivateLinkServiceConnections": [one]})
    assert isinstance(answer, NotReady)
    assert "/a" in answer.message


def test_once_approved_the_next_link_decides():
    status = {"manualPrivateLinkServiceConnections": [connection("/a", "Approved")]}
    assert checked(status, NotReady("other")) == NotReady("other")


NIC = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/nics/n"
ASKING = {
    "operatorSpec": {
        "configMaps": {"primaryNicPrivateIpAddress": {"name": "map", "key": "ip"}}
    }
}


def address(ip, *, primary):
    return {"properties": {"privateIPAddress": ip, "primary": primary}}


def exported(spec, status, arm):
    chain = composed().chain(EXPORT_CONFIG_MAPS, group_kind(KIND))
    obj = cr(KIND, spec=spec, status=status)
    return chain(ExportConfigMaps(fake_ctx(version(KIND), arm=arm), obj))


def test_b1_the_address_of_the_primary_configuration_is_exported():
    nic = {
        "properties": {
            "ipConfigurations": [
                address("10.0.0.4", primary=False),
                address("10.0.0.5", primary=True),
            ]
        }
    }
    arm = FakeArm().on("GET", NIC, OWN, nic)
    export = exported(ASKING, {"networkInterfaces": [{"id": NIC}]}, arm)
    assert export == (Export("map", "ip", "10.0.0.5"),)
    assert arm.sent == [("GET", NIC, OWN)]


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ({}, {"networkInterfaces": [{"id": NIC}]}),
        (ASKING, {}),
        (ASKING, {"networkInterfaces": []}),
        (ASKING, {"networkInterfaces": [{}]}),
    ],
    ids=["not asked for", "no interfaces", "empty", "no id"],
)
def test_without_need_or_interface_nothing_is_asked(spec, status):
    assert exported(spec, status, FakeArm()) == ()


def test_an_interface_without_an_address_yet_exports_nothing():
    arm = FakeArm().on("GET", NIC, OWN, {"properties": {}})
    assert exported(ASKING, {"networkInterfaces": [{"id": NIC}]}, arm) == ()


@pytest.mark.parametrize(
    "configurations",
    [5, True, "text", {"a": 1}, [None], ["x"], [{"properties": []}]]
    + [[address(odd, primary=True)] for odd in (5, True, [], {"a": 1}, "")],
    ids=repr,
)
def test_an_odd_answer_for_the_interface_exports_nothing(configurations):
    nic = {"properties": {"ipConfigurations": configurations}}
    arm = FakeArm().on("GET", NIC, OWN, nic)
    assert exported(ASKING, {"networkInterfaces": [{"id": NIC}]}, arm) == ()
