"""Children kept in the PUT of their parent: before and after, and as recorded."""

import io
import json
import tarfile

import pytest
from datafolder import data_folder
from extensions_chains import cr, default, group_kind, version

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.middleware.declared import name_mark
from asoreconcile.azure.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.azure.middleware.requests import ModifyPayload
from asoreconcile.azure.testing.extensions import FakeArm, arm_fault, fake_ctx
from asoreconcile.base.objects import copy_json

ID = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network"
SUBNET = {
    "name": "front",
    "id": f"{ID}/virtualNetworks/net/subnets/front",
    "etag": 'W/"1"',
    "type": "Microsoft.Network/virtualNetworks/subnets",
    "properties": {
        "provisioningState": "Succeeded",
        "addressPrefix": "10.0.0.0/24",
        "ipConfigurations": [{"id": f"{ID}/networkInterfaces/nic"}],
        "networkSecurityGroup": {
            "id": f"{ID}/networkSecurityGroups/nsg",
            "location": "westus",
        },
        "delegations": [
            {
                "name": "web",
                "id": f"{ID}/virtualNetworks/net/subnets/front/delegations/web",
                "etag": 'W/"1"',
                "properties": {
                    "serviceName": "Microsoft.Web/serverFarms",
                    "actions": ["join"],
                    "provisioningState": "Succeeded",
                },
            }
        ],
        "serviceEndpoints": [],
        "privateEndpointNetworkPolicies": "Disabled",
    },
}
KEPT_SUBNET = {
    "name": "front",
    "id": SUBNET["id"],
    "type": "Microsoft.Network/virtualNetworks/subnets",
    "properties": {
        "addressPrefix": "10.0.0.0/24",
        "networkSecurityGroup": {"id": f"{ID}/networkSecurityGroups/nsg"},
        "delegations": [
            {
                "name": "web",
                "id": f"{ID}/virtualNetworks/net/subnets/front/delegations/web",
                "properties": {"serviceName": "Microsoft.Web/serverFarms"},
            }
        ],
        "privateEndpointNetworkPolicies": "Disabled",
    },
}
RULE = {
    "name": "ssh",
    "id": f"{ID}/networkSecurityGroups/nsg/securityRules/ssh",
    "etag": 'W/"1"',
    "properties": {
        "provisioningState": "Succeeded",
        "protocol": "Tcp",
        "destinationPortRange": "22",
        "priority": 100,
        "access": "Allow",
        "direction": "Inbound",
        "sourceAddressPrefixes": [],
    },
}
ROUTE = {
    "name": "out",
    "etag": 'W/"1"',
    "properties": {
        "provisioningState": "Succeeded",
        "addressPrefix": "0.0.0.0/0",
        "nextHopType": "Internet",
        "hasBgpOverride": False,
    },
}


def nat(name, port, **properties):
    return {"name": name, "properties": {"frontendPort": port, **properties}}


def extension(name, **properties):
    return {"name": name, "properties": {"publisher": "p", **properties}}


def modified(kind, payload, raw, kind_version=""):
    chain = default().chain(MODIFY_PAYLOAD, group_kind(kind))
    before = copy_json([payload, raw])
    ctx = fake_ctx(version(kind, kind_version), raw=raw)
    result = chain(ModifyPayload(ctx, cr(kind), payload))
    assert [payload, raw] == before, "neither payload nor answer may change"
    return result


def profile(*extensions, **more):
    inner = {"extensionProfile": {"extensions": list(extensions)}, **more}
    return {"properties": {"virtualMachineProfile": inner}}


REPLACED = [
    ("network/VirtualNetwork", "subnets", SUBNET, KEPT_SUBNET),
    (
        "network/NetworkSecurityGroup",
        "securityRules",
        RULE,
        {
            "name": "ssh",
            "id": RULE["id"],
            "properties": {
                "protocol": "Tcp",
                "destinationPortRange": "22",
                "priority": 100,
                "access": "Allow",
                "direction": "Inbound",
            },
        },
    ),
    ("network/RouteTable", "routes", ROUTE,
     {"name": "out", "properties": {"addressPrefix": "0.0.0.0/0", "nextHopType": "Internet"}}),
]  # fmt: skip
IDS = [row[0] for row in REPLACED]


@pytest.mark.parametrize(("kind", "field", "answer", "kept"), REPLACED, ids=IDS)
@pytest.mark.parametrize(
    "kind_version", ["v1api20201101", "v1api20240301", "v20250301"]
)
def test_azures_children_go_into_the_put(kind, field, answer, kept, kind_version):
    payload = {"location": "westus", "properties": {"own": 1}}
    raw = {"properties": {field: [answer], "provisioningState": "Succeeded"}}
    assert modified(kind, payload, raw, kind_version) == {
        "location": "westus",
        "properties": {"own": 1, field: [kept]},
    }


@pytest.mark.parametrize(("kind", "field"), [row[:2] for row in REPLACED], ids=IDS)
def test_an_answer_without_the_children_stops_the_put(kind, field):
    with pytest.raises(ConditionError, match=field):
        modified(kind, {"properties": {}}, {"properties": {}})


KINDS = [*IDS, "network/LoadBalancer", "compute/VirtualMachineScaleSet"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_resource_that_is_not_there_yet_changes_nothing(kind):
    assert modified(kind, {"properties": {"own": 1}}, None) == {
        "properties": {"own": 1}
    }


@pytest.mark.parametrize("kind", KINDS)
def test_the_resource_is_read_at_its_own_api_version_and_errors_stop_the_put(kind):
    api_version = version(kind).api_version
    fault = arm_fault(500, "InternalServerError")
    arm = FakeArm().on("GET", "/thing", api_version, fault)
    ctx = fake_ctx(version(kind), arm=arm)
    chain = default().chain(MODIFY_PAYLOAD, group_kind(kind))
    with pytest.raises(type(fault)):
        chain(ModifyPayload(ctx, cr(kind), {}))
    assert [sent[0] for sent in arm.sent] == ["GET"]


def test_nat_rules_of_a_load_balancer_are_merged_by_name():
    answer = [
        {
            **nat("pool.0", 50000, provisioningState="Succeeded"),
            "id": "/x",
            "etag": "e",
        },
        nat("own", 9999),
        nat("OWN", 7),
    ]
    payload = {"properties": {"inboundNatRules": [nat("own", 22)]}}
    result = modified(
        "network/LoadBalancer", payload, {"properties": {"inboundNatRules": answer}}
    )
    assert result["properties"]["inboundNatRules"] == [
        nat("own", 22),
        nat("pool.0", 50000),
        nat("OWN", 7),
    ]


def test_nat_rules_that_the_object_declared_before_are_not_carried_over():
    path = "properties.inboundNatRules"
    answer = {"properties": {"inboundNatRules": [nat("Old", 1), nat("pool.0", 2)]}}
    ctx = fake_ctx(version("network/LoadBalancer", ""), raw=answer)
    ctx.declared.before = frozenset(
        name_mark(path, name) for name in ("old", "own", "gone")
    )
    chain = default().chain(MODIFY_PAYLOAD, group_kind("network/LoadBalancer"))
    payload = {"properties": {"inboundNatRules": [nat("own", 22)]}}
    result = chain(ModifyPayload(ctx, cr("network/LoadBalancer"), payload))
    names = [rule["name"] for rule in result["properties"]["inboundNatRules"]]
    assert names == ["own", "pool.0"]
    assert ctx.declared.now == {name_mark(path, "own")}
    assert ctx.declared.left_in(answer) == {name_mark(path, "old")}


def test_a_load_balancer_answer_without_rules_stops_the_put():
    with pytest.raises(ConditionError, match="inboundNatRules"):
        modified("network/LoadBalancer", {}, {"properties": {}})


def test_extensions_of_a_scale_set_are_merged_by_name():
    raw = profile(
        extension("other", settings={"any": [{"thing": 1}]}, provisioningState="x"),
        extension("own", settings={"old": 1}),
    )
    payload = profile(extension("own", settings={"new": 1}), osProfile={"a": 1})
    assert modified("compute/VirtualMachineScaleSet", payload, raw) == profile(
        extension("own", settings={"new": 1}),
        extension("other", settings={"any": [{"thing": 1}]}),
        osProfile={"a": 1},
    )


@pytest.mark.parametrize(
    "raw",
    [{"properties": {"virtualMachineProfile": {}}}, {"properties": {}}, {}],
    ids=["no extension profile", "no profile", "no properties"],
)
def test_a_scale_set_without_an_extension_profile_has_no_extensions(raw):
    payload = profile(extension("own"))
    assert modified("compute/VirtualMachineScaleSet", payload, raw) == payload


def test_b2_a_scale_set_whose_extensions_cannot_be_read_is_not_put():
    raw = {"properties": {"virtualMachineProfile": {"extensionProfile": {}}}}
    with pytest.raises(ConditionError, match="extensions"):
        modified("compute/VirtualMachineScaleSet", {}, raw)


RECORDED = [
    "network_v1api20201101_LoadBalancer_sampleloadbalancervmss1_3",
    "network_v1api20201101_VirtualNetwork_samplevnetvmss1_3",
]


@pytest.mark.parametrize("name", RECORDED)
def test_the_recorded_put_is_reproduced_from_the_recorded_read(name):
    golden = json.loads((data_folder("golden") / f"{name}.json").read_text())
    gvk = golden["cr"]["apiVersion"].partition("/")[2]
    kind = f"network/{golden['cr']['kind']}"
    raw = _recorded_read(golden)
    field = {"LoadBalancer": "inboundNatRules", "VirtualNetwork": "subnets"}[
        golden["cr"]["kind"]
    ]
    wanted = golden["put"]["body"]
    bare = copy_json(wanted)
    del bare["properties"][field]
    assert modified(kind, bare, raw, gvk) == wanted


def _recorded_read(golden):
    """The first answer to a GET of the resource in the pair's recording."""
    cassette = golden["recording"].rpartition("/")[2].removesuffix(".yaml")
    with tarfile.open(data_folder("recordings-dev.tar.xz")) as archive:
        member = archive.extractfile(f"recordings/{cassette}.json")
        recording = json.load(io.TextIOWrapper(member, "utf-8"))
    for exchange in recording["exchanges"]:
        path = exchange["url"].partition("?")[0]
        if exchange["method"] == "GET" and path.endswith(golden["put"]["path"]):
            return exchange["body"]
    raise AssertionError("the recording has no such GET")
