"""What the simulated Azure does not let through: locks, policies, conditions, names."""

import copy

import pytest

from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.clock import FakeClock

BODY = {"location": "westeurope", "properties": {}}
NETWORKS = "/providers/Microsoft.Network/virtualNetworks"
LOCK = "/providers/Microsoft.Authorization/locks/keep"


@pytest.fixture
def azure():
    with ArmServer(clock=FakeClock(), lro=10.0) as server:
        yield server


@pytest.fixture
def account(azure, group):
    path = f"{group}/providers/Microsoft.Storage/storageAccounts/account"
    azure.seed(path, BODY)
    return path


def refusal(response):
    return response.status_code, response.json()["error"]["code"]


def lock(session, scope, level):
    locked = session.put(scope + LOCK, json={"properties": {"level": level}})
    assert locked.status_code == 201


@pytest.mark.parametrize(
    ("level", "refused"),
    [
        pytest.param("CanNotDelete", {"DELETE"}, id="E5-delete"),
        pytest.param("ReadOnly", {"PUT", "DELETE", "POST"}, id="E5-read-only"),
    ],
)
@pytest.mark.parametrize("where", ["subscription", "group", "resource"])
def test_e5_locks_forbid_by_their_level(session, group, account, level, refused, where):
    subscription = group.partition("/resourceGroups")[0]
    scopes = {"subscription": subscription, "group": group, "resource": account}
    lock(session, scopes[where], level)
    answers = {
        "PUT": session.put(account, json=BODY),
        "POST": session.post(f"{account}/listKeys"),
        "DELETE": session.delete(account),
    }
    assert {verb for verb, a in answers.items() if a.status_code == 409} == refused
    for verb in refused:
        assert refusal(answers[verb]) == (409, "ScopeLocked")
        said = answers[verb].json()["error"]["message"]
        assert f"are locked: '{scopes[where]}'. Please remove the lock" in said
    assert session.get(account).status_code == 200


def test_e5_one_locked_resource_keeps_its_group(session, group, account):
    lock(session, account, "CanNotDelete")
    assert refusal(session.delete(group)) == (409, "ScopeLocked")
    assert session.delete(account + LOCK).status_code in (200, 204)
    assert session.delete(group).status_code == 202


def test_locks_are_listed_and_need_a_level(session, group, account):
    lock(session, account, "ReadOnly")
    for scope in (group, account):
        shown = session.get(f"{scope}/providers/Microsoft.Authorization/locks").json()
        (found,) = shown["value"]
        assert (found["id"], found["properties"]["level"]) == (
            account + LOCK,
            "ReadOnly",
        )
    unclear = session.request(
        "PUT", group + LOCK, json={"properties": {}}, api_version="2020-05-01"
    )
    assert refusal(unclear) == (400, "InvalidParameter")


def test_e4_a_policy_denies_with_its_name(azure, session, group):
    azure.deny("virtualNetworks/forbidden", "No such networks")
    denied = session.put(f"{group}{NETWORKS}/forbidden", json=BODY)
    assert refusal(denied) == (403, "RequestDisallowedByPolicy")
    (info,) = denied.json()["error"]["additionalInfo"]
    assert info["type"] == "PolicyViolation"
    assert info["info"]["policyDefinitionDisplayName"] == "No such networks"
    assert session.put(f"{group}{NETWORKS}/allowed", json=BODY).status_code == 201


@pytest.fixture
def zone(azure, group):
    """Of a type with ETags that is written at once."""
    azure.styles.change("Microsoft.Network/privateDnsZones", create="201", update="200")
    return f"{group}/providers/Microsoft.Network/privateDnsZones/zone"


def test_h3_a_write_on_an_old_etag_is_refused(session, zone):
    first = session.put(zone, json=BODY).headers["ETag"]
    held = session.put(zone, json=BODY, headers={"If-Match": first})
    assert held.status_code == 200
    assert held.headers["ETag"] != first
    late = session.put(zone, json=BODY, headers={"If-Match": first})
    assert refusal(late) == (412, "PreconditionFailed")
    assert session.put(zone, json=BODY, headers={"If-Match": "*"}).status_code == 200


def test_h3_if_match_of_what_is_absent(session, zone):
    headers = {"If-Match": "*"}
    assert session.put(zone, json=BODY, headers=headers).status_code == 412
    assert session.delete(zone, headers=headers).status_code == 204


def test_h3_if_none_match_lets_only_the_first_write_through(session, zone):
    headers = {"If-None-Match": "*"}
    assert session.put(zone, json=BODY, headers=headers).status_code == 201
    assert session.put(zone, json=BODY, headers=headers).status_code == 412


def test_h3_types_without_etags_do_not_look(session, account):
    headers = {"If-Match": '"nonsense"'}
    assert session.put(account, json=BODY, headers=headers).status_code == 200


def test_de4_products_go_only_with_if_match(azure, session, group):
    service = f"{group}/providers/Microsoft.ApiManagement/service/s"
    azure.seed(service, BODY)
    azure.seed(f"{service}/products/p", {})
    assert session.delete(f"{service}/products/p").status_code == 400
    headers = {"If-Match": "*"}
    gone = session.delete(f"{service}/products/p", headers=headers)
    assert gone.status_code in (200, 202, 204)


@pytest.mark.parametrize(
    ("type_", "name", "code"),
    [
        ("Microsoft.Storage/storageAccounts", "taken", "StorageAccountAlreadyTaken"),
        ("Microsoft.KeyVault/vaults", "TAKEN", "VaultAlreadyExists"),
        ("Microsoft.ContainerRegistry/registries", "Taken", "AlreadyInUse"),
    ],
)
def test_some_names_are_taken_in_all_of_azure(azure, session, group, type_, name, code):
    body = {**BODY, "sku": {"name": "Basic"}, "kind": "StorageV2"}
    azure.seed(f"{group}/providers/{type_}/taken", BODY)
    other = f"{group}-other"
    azure.seed(other, {"location": "westeurope"})
    assert refusal(session.put(f"{other}/providers/{type_}/{name}", json=body)) == (
        409,
        code,
    )
    assert session.put(f"{group}/providers/{type_}/taken", json=BODY).status_code < 300


def test_other_names_are_taken_in_their_group_only(azure, session, group):
    azure.seed(f"{group}{NETWORKS}/v", BODY)
    azure.seed(f"{group}-other", {"location": "westeurope"})
    assert session.put(f"{group}-other{NETWORKS}/v", json=BODY).status_code == 201


def test_i5_a_resource_cannot_move_to_another_location(azure, session, account):
    moved = session.put(account, json={**BODY, "location": "East US"})
    assert refusal(moved) == (409, "InvalidResourceLocation")


@pytest.mark.parametrize("sent", ["Creating", "Failed"])
def test_v2_a_state_that_is_not_so_is_refused(session, account, sent):
    body = {**BODY, "properties": {"provisioningState": sent}}
    assert refusal(session.put(account, json=body)) == (400, "InvalidRequestContent")


def test_v7_no_keys_while_an_account_is_made(azure, session, group):
    path = f"{group}/providers/Microsoft.Storage/storageAccounts/new"
    assert session.put(path, json=BODY).status_code == 202
    refused = session.post(f"{path}/listKeys")
    assert refusal(refused) == (409, "StorageAccountIsNotProvisioned")
    azure.advance(10.0)
    assert len(session.post(f"{path}/listKeys").json()["keys"]) == 2


def test_w23_i7_a_deleted_vault_holds_its_name(azure, session, group):
    vault = f"{group}/providers/Microsoft.KeyVault/vaults/vault"
    sku = {"family": "A", "name": "standard"}
    body = {**BODY, "properties": {"tenantId": azure.tenant_id, "sku": sku}}
    azure.seed(vault, body)
    held = group.partition("/resourceGroups")[0] + (
        "/providers/Microsoft.KeyVault/locations/westeurope/deletedVaults/vault"
    )
    assert refusal(session.get(held)) == (404, "DeletedVaultNotFound")
    assert session.delete(vault).status_code == 200
    assert session.get(held).json()["properties"]["vaultId"] == vault
    assert refusal(session.put(vault, json=body)) == (409, "ConflictError")
    recovered = copy.deepcopy(body)
    recovered["properties"]["createMode"] = "recover"
    assert session.put(vault, json=recovered).status_code == 200
    session.delete(vault)
    assert session.post(f"{held}/purge").status_code == 200
    assert session.put(vault, json=body).status_code == 200


def test_w24_de1_a_group_goes_with_all_that_is_in_it(azure, session, group, account):
    assert session.delete(group).status_code == 202
    assert session.get(group).json()["properties"]["provisioningState"] == "Deleting"
    new = session.put(f"{group}{NETWORKS}/late", json=BODY)
    assert refusal(new) == (409, "ResourceGroupBeingDeleted")
    azure.advance(10.0)
    assert refusal(session.get(account)) == (404, "ResourceGroupNotFound")
    assert azure.resources() == {}


def test_pr1_pr3_a_provider_can_be_unregistered(azure, session, group):
    azure.providers.unregister("Microsoft.Network", seconds=60.0)
    path = f"{group}{NETWORKS}/v"
    refused = session.put(path, json=BODY)
    assert refusal(refused) == (409, "MissingSubscriptionRegistration")
    (detail,) = refused.json()["error"]["details"]
    assert detail["target"] == "Microsoft.Network"
    provider = f"{group.partition('/resourceGroups')[0]}/providers/Microsoft.Network"
    assert session.get(provider).json()["registrationState"] == "NotRegistered"
    for _ in range(2):
        asked = session.post(f"{provider}/register")
        assert asked.json()["registrationState"] == "Registering"
        azure.advance(29.0)
    assert session.put(path, json=BODY).status_code == 409
    azure.advance(2.0)
    assert session.get(provider).json()["registrationState"] == "Registered"
    assert session.put(path, json=BODY).status_code == 201


def test_v9_a_type_can_take_some_versions_only(azure, session, group):
    azure.providers.allow(NETWORKS.removeprefix("/providers/"), ["2025-01-01"])
    path = f"{group}{NETWORKS}/v"
    refused = session.put(path, json=BODY, api_version="2024-01-01")
    assert refusal(refused) == (400, "NoRegisteredProviderFound")
    assert "'2025-01-01'" in refused.json()["error"]["message"]
    taken = session.put(path, json=BODY, api_version="2025-01-01")
    assert taken.status_code == 201


def test_i6_a_move_takes_what_is_below_along_and_leaves_nothing(session, azure, group):
    target = group.replace("/rg", "/other")
    azure.seed(target, {"location": "westeurope"})
    network = f"{group}{NETWORKS}/net"
    azure.seed(network, BODY)
    azure.seed(f"{network}/subnets/a", {"properties": {}})
    wish = {"resources": [network], "targetResourceGroup": target}
    begun = session.post(f"{group}/moveResources", json=wish)
    assert (begun.status_code, begun.content) == (202, b"")
    assert session.get(begun.headers["Location"]).status_code == 202
    for held in (group, target):
        put = session.put(f"{held}{NETWORKS}/more", json=BODY)
        assert refusal(put) == (409, "ScopeLocked")
        again = {"resources": [network], "targetResourceGroup": held}
        assert refusal(session.post(f"{held}/moveResources", json=again))[0] in (
            400,
            409,
        )
    azure.advance(10.0)
    assert session.get(begun.headers["Location"]).status_code == 204
    assert refusal(session.get(network)) == (404, "ResourceNotFound")
    moved = session.get(f"{target}{NETWORKS}/net").json()
    assert moved["id"] == f"{target}{NETWORKS}/net"
    assert [s["name"] for s in moved["properties"]["subnets"]] == ["a"]
    assert session.put(f"{group}{NETWORKS}/more", json=BODY).status_code == 201


@pytest.mark.parametrize(
    ("resources", "target", "status"),
    [
        pytest.param(["{group}{net}/net"] * 801, "{other}", 400, id="I6-at-most-800"),
        pytest.param(["{group}{net}/net/subnets/a"], "{other}", 400, id="I6-top-level"),
        pytest.param([], "{other}", 400, id="I6-none"),
        pytest.param(["{other}{net}/net"], "{group}", 400, id="I6-of-another-group"),
        pytest.param(["{group}{net}/gone"], "{other}", 404, id="I6-not-there"),
        pytest.param(["{group}{net}/net"], "{group}-gone", 404, id="I6-no-target"),
        pytest.param(["{group}{net}/net"], "nowhere", 400, id="I6-no-id"),
        pytest.param(["{group}{net}/net"], "{other}", 409, id="I6-name-taken"),
    ],
)
def test_i6_moves_that_are_refused(session, azure, group, resources, target, status):
    names = {"group": group, "other": group.replace("/rg", "/other"), "net": NETWORKS}
    azure.seed(names["other"], {"location": "westeurope"})
    for holder in ("group", "other"):
        azure.seed(f"{names[holder]}{NETWORKS}/net", BODY)
    azure.seed(f"{group}{NETWORKS}/net/subnets/a", {"properties": {}})
    wish = {
        "resources": [id_.format(**names) for id_ in resources],
        "targetResourceGroup": target.format(**names),
    }
    refused = session.post(f"{group}/moveResources", json=wish)
    assert refused.status_code == status, refused.text
    assert session.get(f"{group}{NETWORKS}/net").status_code == 200


NAT = "/providers/Microsoft.Network/loadBalancers/lb"
SCALE_SET = "/providers/Microsoft.Compute/virtualMachineScaleSets/set"


def test_h3_a_child_s_write_gives_its_parent_another_etag(azure, session, group):
    parent = f"{group}{NAT}"
    azure.seed(parent, BODY)
    seen = [session.get(parent).headers["ETag"]]
    rule = f"{parent}/inboundNatRules/r"
    session.put(rule, json={"properties": {"frontendPort": 1}})
    seen.append(session.get(parent).headers["ETag"])
    azure.advance(60.0)
    assert session.get(parent).json()["etag"] == session.get(parent).headers["ETag"]
    seen.append(session.get(parent).headers["ETag"])
    session.delete(rule)
    (leaving,) = session.get(parent).json()["properties"]["inboundNatRules"]
    assert leaving["properties"]["provisioningState"] == "Deleting"
    seen.append(session.get(parent).headers["ETag"])
    azure.advance(60.0)
    assert session.get(parent).json()["properties"]["inboundNatRules"] == []
    seen.append(session.get(parent).headers["ETag"])
    assert len({*seen}) == len(seen) - 1  # that the child's write ended changes nothing
    late = session.put(parent, json=BODY, headers={"If-Match": seen[-2]})
    assert refusal(late) == (412, "PreconditionFailed")


def test_extensions_of_a_scale_set_are_shown_where_azure_shows_them(
    azure, session, group
):
    parent = f"{group}{SCALE_SET}"
    azure.seed(parent, BODY)
    profile = session.get(parent).json()["properties"]["virtualMachineProfile"]
    assert "extensionProfile" not in profile
    azure.seed(f"{parent}/extensions/e", {"properties": {"type": "T"}})
    shown = session.get(parent).json()["properties"]["virtualMachineProfile"]
    assert [e["name"] for e in shown["extensionProfile"]["extensions"]] == ["e"]
    session.put(parent, json=BODY)
    assert session.get(f"{parent}/extensions/e").status_code == 404


@pytest.mark.parametrize(
    ("path", "header", "body"),
    [
        ("Microsoft.Insights/components/c", False, True),
        ("Microsoft.Network/dnsResolvers/r", False, True),
        ("Microsoft.Communication/communicationServices/s", True, False),
        ("Microsoft.CognitiveServices/accounts/a", True, True),
        ("Microsoft.Compute/disks/d", False, False),
    ],
)
def test_h3_etags_are_where_they_were_seen(azure, session, group, path, header, body):
    azure.seed(f"{group}/providers/{path}", BODY)
    found = session.get(f"{group}/providers/{path}")
    assert ("ETag" in found.headers, "etag" in found.json()) == (header, body)
