"""The strict simulator refuses what Azure's published types exclude, in Azure's words."""

import pytest

from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.clock import FakeClock

NETWORK = "2020-11-01"
STORAGE = "2023-01-01"
ACCOUNT = {"location": "westus2", "sku": {"name": "Standard_LRS"}, "kind": "StorageV2"}


@pytest.fixture(scope="module")
def azure():
    with ArmServer(clock=FakeClock()) as server:
        yield server


@pytest.fixture(scope="module")
def session(azure):
    with azure.session() as signed_in:
        yield signed_in


@pytest.fixture
def put(azure, session, group):
    def put(type_and_name, body, api_version=STORAGE):
        path = f"{group}/providers/{type_and_name}"
        answer = session.request("PUT", path, json=body, api_version=api_version)
        return answer.status_code, answer.json()["error"]["code"]

    return put


@pytest.mark.parametrize(
    ("name", "body", "version", "code"),
    [
        ("my-account", ACCOUNT, STORAGE, "AccountNameInvalid"),
        ("account", ACCOUNT, "2023-01-02", "NoRegisteredProviderFound"),
        (
            *("account", {**ACCOUNT, "location": "middle-earth-1"}, STORAGE),
            "LocationNotAvailableForResourceType",
        ),
        ("account", {"location": "westus2"}, STORAGE, "InvalidParameter"),
        ("account", {"sku": {}, "kind": "Storage"}, STORAGE, "LocationRequired"),
        (
            *("account", {**ACCOUNT, "properties": {"accessTier": "Icy"}}, STORAGE),
            "InvalidParameter",
        ),
        (
            *("account", {**ACCOUNT, "properties": {"isHnsEnabled": "yes"}}, STORAGE),
            "InvalidRequestContent",
        ),
        (
            *("account", {**ACCOUNT, "properties": {"creationTime": "now"}}, STORAGE),
            "InvalidRequestContent",
        ),
    ],
)
def test_what_the_types_exclude_is_refused(put, name, body, version, code):
    account = f"Microsoft.Storage/storageAccounts/{name}"
    assert put(account, body, version) == (400, code)


@pytest.mark.parametrize(
    ("type_", "version", "member", "values", "refused"),
    [
        (
            "Microsoft.Storage/storageAccounts",
            *(STORAGE, "isHnsEnabled", (False, True)),
            (409, "AccountPropertyCannotBeUpdated"),
        ),
        (
            "Microsoft.Network/publicIPPrefixes",
            *(NETWORK, "prefixLength", (28, 29)),
            (400, "BadRequest"),
        ),
    ],
)
def test_what_cannot_change_is_refused_once_it_was_made(
    azure, session, group, type_, version, member, values, refused
):
    path = f"{group}/providers/{type_}/made"
    body = {**ACCOUNT, "sku": {"name": "Standard"}}
    azure.seed(path, {**body, "properties": {member: values[0]}})
    answers = []
    for properties in ({member: values[1]}, {}, {member: values[0]}):
        sent = {**body, "properties": properties}
        answers.append(session.put(path, json=sent, api_version=version))
    error = answers[0].json()["error"]
    assert (answers[0].status_code, error["code"]) == refused
    assert f"properties.{member.lower()}'" in error["message"]
    assert [answer.status_code for answer in answers[1:]] == [200, 200]


def test_a_wrong_name_of_an_account_is_refused_at_every_verb(session, group):
    path = f"{group}/providers/Microsoft.Storage/storageAccounts/my-account"
    for method in ("GET", "DELETE"):
        answer = session.request(method, path, api_version=STORAGE)
        assert answer.json()["error"]["code"] == "AccountNameInvalid"


def test_what_a_read_showed_can_be_put_back(azure, session, group):
    path = f"{group}/providers/Microsoft.Storage/storageAccounts/shown"
    azure.seed(path, ACCOUNT)
    shown = session.request("GET", path, api_version=STORAGE).json()
    answer = session.request("PUT", path, json=shown, api_version=STORAGE)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("subnet", "code"),
    [
        ("virtualNetworks/hub", "InvalidRequestFormat"),
        ("virtualNetworks/hub/subnets/none", "InvalidResourceReference"),
        ("virtualNetworks/none/subnets/one", "InvalidResourceReference"),
    ],
)
def test_a_reference_is_to_an_existing_resource_of_the_right_type(
    azure, put, group, subnet, code
):
    network = f"{group}/providers/Microsoft.Network"
    azure.seed(f"{network}/virtualNetworks/hub", {"location": "westus2"})
    parts = [{"name": "a", "properties": {"subnet": {"id": f"{network}/{subnet}"}}}]
    body = {"location": "westus2", "properties": {"ipConfigurations": parts}}
    nic = "Microsoft.Network/networkInterfaces/nic"
    assert put(nic, body, NETWORK) == (400, code)
    parts[0]["properties"]["subnet"]["id"] = "hub"
    assert put(nic, body, NETWORK) == (400, "LinkedInvalidPropertyId")


def test_a_reference_to_a_part_of_a_body_counts(azure, session, group):
    balancers = f"{group}/providers/Microsoft.Network/loadBalancers"
    front = {"name": "front", "properties": {"privateIPAddress": "10.0.0.4"}}
    for name, status in (("front", 201), ("back", 400)):
        path = f"{balancers}/{name}"
        to = f"{path}/frontendIPConfigurations/{name}"
        rule = {
            "name": "web",
            "properties": {
                "frontendIPConfiguration": {"id": to},
                "frontendPort": 80,
                "protocol": "Tcp",
            },
        }
        parts = {"frontendIPConfigurations": [front], "loadBalancingRules": [rule]}
        body = {"location": "westus2", "properties": parts}
        answer = session.request("PUT", path, json=body, api_version=NETWORK)
        assert answer.status_code == status
