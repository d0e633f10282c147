"""What the simulated ARM checks before any provider is asked."""

import pytest

from asoreconcile.testing.arm import ArmServer

GROUP = "/subscriptions/{}/resourceGroups/rg"
NETWORKS = "/providers/Microsoft.Network/virtualNetworks"
TOPICS = "/providers/Microsoft.ServiceBus/namespaces"
NETWORK_BODY = {"location": "westeurope", "properties": {}}


@pytest.fixture(scope="module")
def azure():
    with ArmServer() as server:
        yield server


@pytest.fixture(scope="module")
def session(azure):
    with azure.session() as signed_in:
        yield signed_in


@pytest.fixture
def group(azure, session):
    path = GROUP.format(azure.subscription_id)
    azure.remove(path)
    assert session.put(path, json={"location": "westeurope"}).status_code == 201
    return path


def refusal(response):
    return response.status_code, response.json()["error"]["code"]


def test_e8_requests_without_a_token_are_401(azure, session):
    path = GROUP.format(azure.subscription_id)
    for authorization in (None, "Bearer nonsense", "Basic bm9uc2Vuc2U=", "Bearer"):
        refused = session.get(path, headers={"Authorization": authorization})
        assert refusal(refused) == (401, "InvalidAuthenticationToken")


def test_tokens_for_another_resource_are_401(azure, session):
    token = azure.entra.issue(azure.client_id, audience="https://vault.azure.net")
    path = GROUP.format(azure.subscription_id)
    refused = session.get(path, headers={"Authorization": f"Bearer {token}"})
    assert refusal(refused) == (401, "InvalidAuthenticationToken")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/subscriptions/0000/resourceGroups/rg", "SubscriptionNotFound"),
        ("/subscriptions/0000/resourceGroups/rg" + NETWORKS + "/v", None),
        ("{group}-none" + NETWORKS + "/v", "ResourceGroupNotFound"),
        ("{group}" + TOPICS + "/none/topics/t", "ParentResourceNotFound"),
    ],
    ids=["subscription", "subscription-of-resource", "group", "parent"],
)
def test_v3_404_names_what_is_absent(session, group, method, path, code):
    body = NETWORK_BODY if method == "PUT" else None
    refused = session.request(method, path.format(group=group), json=body)
    expected = code or "SubscriptionNotFound"
    assert refusal(refused) == (404, expected)
    assert refused.headers["x-ms-failure-cause"] == "gateway"


def test_v3_absent_resource_and_group_have_their_own_code(session, group):
    resource = session.get(f"{group}{NETWORKS}/none")
    assert refusal(resource) == (404, "ResourceNotFound")
    assert "virtualNetworks/none" in resource.json()["error"]["message"]
    assert refusal(session.get(f"{group}-none")) == (404, "ResourceGroupNotFound")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_v3_some_providers_name_the_missing_parent_as_the_resource(
    session, group, method
):
    refused = session.request(method, f"{group}{NETWORKS}/none/subnets/s")
    assert refusal(refused) == (404, "ResourceNotFound")
    message = refused.json()["error"]["message"]
    assert "virtualNetworks/none" in message
    assert "subnets" not in message


def test_v3_the_highest_missing_parent_is_named(session, group):
    path = f"{group}{TOPICS}/none/topics/t/subscriptions/s"
    refused = session.put(path, json={})
    assert refusal(refused) == (404, "ParentResourceNotFound")
    assert f"{group}{TOPICS}/none'" in refused.json()["error"]["message"]


def test_v5_delete_of_what_is_absent(session, group):
    assert session.delete(f"{group}{NETWORKS}/none").status_code == 204
    assert refusal(session.delete(f"{group}-none")) == (404, "ResourceGroupNotFound")


def test_head_tells_existence_without_a_body(session, group):
    assert session.head(group).status_code == 204
    absent = session.head(f"{group}{NETWORKS}/none")
    assert (absent.status_code, absent.content) == (404, b"")


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (None, "MissingApiVersionParameter"),
        ("", "MissingApiVersionParameter"),
        ("latest", "InvalidApiVersionParameter"),
        ("2024-1-1", "InvalidApiVersionParameter"),
        ("2024-13-01", "InvalidApiVersionParameter"),
        ("2024-01-01-nightly", "InvalidApiVersionParameter"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "POST", "LIST"])
def test_v9_bad_api_versions_are_400(session, group, method, version, code):
    path = {"POST": f"{group}{NETWORKS}/v/x", "LIST": group + NETWORKS}.get(
        method, f"{group}{NETWORKS}/v"
    )
    verb = "GET" if method == "LIST" else method
    refused = session.request(verb, path, api_version=version, json=NETWORK_BODY)
    assert refused.status_code == 400
    if method != "HEAD":
        assert refused.json()["error"]["code"] == code


@pytest.mark.parametrize("label", ["preview", "alpha", "beta", "rc", "privatepreview"])
def test_v9_labels_of_api_versions_are_accepted(session, group, label):
    path = f"{group}/providers/Contoso.Own/things/one"
    refused = session.get(path, api_version=f"2024-01-01-{label}")
    assert refusal(refused) == (404, "ResourceNotFound")


@pytest.mark.parametrize("content", [b"{", b"[]", b"", b'"text"'])
def test_broken_bodies_are_400(session, group, content):
    refused = session.put(f"{group}{NETWORKS}/v", data=content)
    assert refusal(refused) == (400, "InvalidRequestContent")


@pytest.mark.parametrize(
    "changes",
    [
        {"properties": "text"},
        {"properties": []},
        {"location": 5},
        {"tags": ["a"]},
        {"tags": {"a": 1}},
        {"identity": "no"},
        {"properties": {"subnets": "no"}},
        {"properties": {"subnets": [{"properties": {}}]}},
    ],
)
def test_members_of_other_types_are_400(session, group, changes):
    body = {**NETWORK_BODY, **changes}
    refused = session.put(f"{group}{NETWORKS}/v", json=body)
    assert refusal(refused) == (400, "InvalidRequestContent")


def test_members_that_are_null_are_not_there(session, group):
    path = f"{group}/providers/Microsoft.Network/publicIPAddresses/ip"
    body = {"location": "westeurope", "properties": None, "tags": None}
    made = session.put(path, json=body)
    assert made.status_code == 201
    assert "tags" not in made.json()


@pytest.mark.parametrize("name", ["a<b", "a>b", "x" * 261, "a\\b"])
def test_i3_names_that_cannot_be_are_400(session, group, name):
    refused = session.put(f"{group}{NETWORKS}/{name}", json=NETWORK_BODY)
    assert refusal(refused) == (400, "InvalidResourceName")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/nonsense", "NotFound"),
        ("/subscriptions/other", "SubscriptionNotFound"),
        ("/subscriptions/other/resourceGroups", "SubscriptionNotFound"),
        ("{group}x/resources", "ResourceGroupNotFound"),
        ("{group}x{networks}", "ResourceGroupNotFound"),
        ("{group}{networks}/gone/subnets", "ResourceNotFound"),
    ],
)
def test_q1_a_list_at_what_is_not_there_is_404_and_not_empty(
    session, group, path, code
):
    path = path.format(group=group, networks=NETWORKS)
    assert refusal(session.get(path)) == (404, code)


def test_the_subscription_is_shown(azure, session):
    path = f"/subscriptions/{azure.subscription_id}"
    assert session.get(path).json()["state"] == "Enabled"
    assert [s["id"] for s in session.get("/subscriptions").json()["value"]] == [path]


def test_i7_deleted_vaults_are_listed_and_known_in_their_place(azure, session, group):
    path = f"{group}/providers/Microsoft.KeyVault/vaults/vault"
    azure.seed(path, {"location": "West Europe"})
    assert session.delete(path).status_code == 200
    place = f"/subscriptions/{azure.subscription_id}/providers/Microsoft.KeyVault"
    (listed,) = session.get(f"{place}/deletedVaults").json()["value"]
    assert listed["id"] == f"{place}/locations/westeurope/deletedVaults/vault"
    assert session.get(listed["id"]).json() == listed
    elsewhere = listed["id"].replace("westeurope", "northeurope")
    assert refusal(session.get(elsewhere)) == (404, "DeletedVaultNotFound")
    assert session.post(f"{listed['id']}/purge").status_code == 200


def test_unsupported_methods_are_405(session, group):
    assert session.options(f"{group}{NETWORKS}/v").status_code == 405
    assert session.put(group + NETWORKS, json={}).status_code == 405


def test_patch_changes_what_it_names_and_no_more(azure, session, group):
    path = f"{group}{NETWORKS}/v"
    assert refusal(session.patch(path, json={}))[0] == 404
    body = {**NETWORK_BODY, "tags": {"a": "1", "b": "2"}}
    session.put(path, json=body)
    azure.seed(f"{path}/subnets/hand", {"properties": {}})
    before = session.get(path).json()
    changed = session.patch(path, json={"tags": {"a": None, "c": "3"}})
    assert changed.status_code == 200
    after = session.get(path).json()
    assert after["tags"] == {"b": "2", "c": "3"}
    for moot in ("tags", "etag"):
        before.pop(moot, None)
        after.pop(moot, None)
    assert before == after


def test_h1_ids_come_back(session, group):
    sent = {
        "x-ms-client-request-id": "0a",
        "x-ms-correlation-request-id": "0b",
        "x-ms-return-client-request-id": "true",
    }
    answered = session.get(group, headers=sent).headers
    assert answered["x-ms-client-request-id"] == "0a"
    assert answered["x-ms-correlation-request-id"] == "0b"
    assert answered["x-ms-request-id"]
    assert answered["Date"].endswith("GMT")


def test_i2_ids_are_compared_without_case(session, group):
    path = f"{group}{NETWORKS}/Net"
    session.put(path, json=NETWORK_BODY)
    assert session.get(path.upper().replace("/V1", "/v1")).json()["name"] == "Net"
    again = session.put(path.lower(), json=NETWORK_BODY)
    assert again.status_code == 200
    assert session.get(path).json()["id"] == path


def test_i3_encoded_names_are_decoded_once(session, group):
    store = f"{group}/providers/Microsoft.AppConfiguration/configurationStores/store"
    session.put(store, json={"location": "westeurope"})
    made = session.put(f"{store}/keyValues/app%3Aa%2525b", json={"properties": {}})
    assert made.json()["name"] == "app:a%25b"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("a" * 91, "InvalidParameter"),
        ("ends-with.", "InvalidParameter"),
        ("what%3F", "InvalidParameter"),
    ],
    ids=["long", "dot", "sign"],
)
def test_i3_group_names_are_checked(azure, session, name, code):
    path = f"/subscriptions/{azure.subscription_id}/resourceGroups/{name}"
    refused = session.put(path, json={"location": "westeurope"})
    assert refusal(refused) == (400, code)


def test_i5_locations_compare_by_their_short_form(session, group):
    path = f"{group}{NETWORKS}/v"
    assert session.put(path, json=NETWORK_BODY).status_code == 201
    again = session.put(path, json={**NETWORK_BODY, "location": "West Europe"})
    assert again.status_code == 200
    moved = session.put(path, json={**NETWORK_BODY, "location": "uksouth"})
    assert refusal(moved) == (409, "InvalidResourceLocation")


def test_group_needs_a_location(azure, session):
    path = GROUP.format(azure.subscription_id) + "-nowhere"
    assert refusal(session.put(path, json={})) == (400, "LocationRequired")


def test_body_that_names_another_resource_is_400(session, group):
    path = f"{group}{NETWORKS}/v"
    for wrong in ({"name": "other"}, {"id": f"{path}-2"}, {"type": "A.B/c"}):
        refused = session.put(path, json={**NETWORK_BODY, **wrong})
        assert refused.status_code == 400
        assert refused.json()["error"]["code"] == "InvalidRequestContent"
