"""The simulated Microsoft Graph, asked by hand: what it takes and what it refuses."""

import json
import ssl
import urllib.request
from urllib.error import HTTPError

import pytest

from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.fault_injection import InjectedFault

BODY = {
    "displayName": "Shop",
    "mailNickname": "shop",
    "mailEnabled": False,
    "securityEnabled": True,
}


@pytest.fixture(scope="module")
def azure():
    with ArmServer() as server:
        yield server


@pytest.fixture
def ask(azure):
    """Sends a request; its status, body and headers."""
    context = ssl.create_default_context(cadata=azure.ca_pem.decode())
    audience = "https://graph.microsoft.com"
    token = azure.entra.issue(azure.client_id, audience=audience)

    def ask(method, path, body=None, version="v1.0", **headers):
        request = urllib.request.Request(
            f"{azure.graph.url}/{version}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}", **headers},
        )
        try:
            with urllib.request.urlopen(request, context=context) as found:
                content = found.read()
                return found.status, json.loads(content or "null"), found.headers
        except HTTPError as refused:
            with refused:
                return refused.code, json.loads(refused.read()), refused.headers

    return ask


def test_post_makes_one_more_each_time(ask):
    status, first, _ = ask("POST", "/groups", BODY)
    assert status == 201
    assert first["@odata.context"].endswith("/v1.0/$metadata#groups/$entity")
    assert ask("POST", "/groups", BODY)[1]["id"] != first["id"]


def test_errors_are_in_graphs_envelope(ask):
    id_ = "00000000-0000-0000-0000-000000000009"
    status, body, headers = ask("GET", f"/groups/{id_}", **{"client-request-id": "c"})
    error = body["error"]
    assert (status, error["code"]) == (404, "Request_ResourceNotFound")
    assert id_ in error["message"]
    assert error["innerError"]["client-request-id"] == "c"
    assert error["innerError"]["request-id"] == headers["request-id"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"displayName": ""}, "displayName"),
        ({"displayName": "x" * 257}, "displayName"),
        ({"mailNickname": None}, "mailNickname"),
        ({"mailNickname": "a b"}, "mailNickname"),
        ({"mailNickname": "shop@example.com"}, "mailNickname"),
        ({"mailNickname": "x" * 65}, "mailNickname"),
        ({"groupTypes": ["Static"]}, "groupTypes"),
        ({"groupTypes": ["DynamicMembership"]}, "membershipRule"),
        ({"color": "red"}, "color"),
    ],
)
def test_values_that_graph_refuses(ask, changes, named):
    status, body, _ = ask("POST", "/groups", {**BODY, **changes})
    assert (status, body["error"]["code"]) == (400, "Request_BadRequest")
    assert named in body["error"]["message"]


def test_a_microsoft_365_group_has_mail_whatever_is_said(ask):
    _, group, _ = ask("POST", "/groups", {**BODY, "groupTypes": ["Unified"]})
    assert group["mailEnabled"] is True
    assert group["mail"].startswith("shop@")


@pytest.mark.parametrize(
    "changes",
    [{"isAssignableToRole": True}, {"uniqueName": "x"}, {"groupTypes": ["Unified"]}],
)
def test_what_cannot_change_is_refused(ask, changes):
    _, group, _ = ask("POST", "/groups", BODY)
    assert ask("PATCH", f"/groups/{group['id']}", changes)[0] == 400


def test_a_patch_by_name_creates_only_if_told_to(ask):
    path = "/groups(uniqueName='by-name')"
    assert ask("PATCH", path, BODY)[0] == 404
    assert ask("PATCH", path, BODY, Prefer="create-if-missing")[0] == 201
    assert ask("PATCH", path, {"description": "d"})[0] == 204
    assert ask("GET", path)[1]["description"] == "d"


def test_a_creation_binds_twenty_at_most(ask, azure):
    url = azure.graph.url
    people = [f"{url}/v1.0/users/{azure.graph.add_object()}" for _ in range(21)]
    assert ask("POST", "/groups", {**BODY, "members@odata.bind": people})[0] == 400
    body = {**BODY, "members@odata.bind": people[:20]}
    _, group, _ = ask("POST", "/groups", body)
    _, page, _ = ask("GET", f"/groups/{group['id']}/members?$select=id")
    assert len(page["value"]) == 20


def test_the_identity_of_a_resource_is_an_object_of_the_directory(ask, azure):
    scope = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg"
    azure.seed(scope, {"location": "westeurope"})
    type_ = "Microsoft.ManagedIdentity/userAssignedIdentities"
    azure.seed(f"{scope}/providers/{type_}/app", {"location": "westeurope"})
    found = azure.resources()[f"{scope}/providers/{type_}/app"]
    principal = found["properties"]["principalId"]
    group = azure.graph.seed(displayName="With an identity")
    reference = {"@odata.id": f"{azure.graph.url}/v1.0/directoryObjects/{principal}"}
    assert ask("POST", f"/groups/{group}/members/$ref", reference)[0] == 204
    again = ask("POST", f"/groups/{group}/members/$ref", reference)
    assert again[0] == 400
    assert "already exist" in again[1]["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/users"), ("PUT", "/groups"), ("GET", "/groups?$filter=id gt 1")],
)
def test_what_is_not_simulated_is_refused(ask, method, path):
    assert ask(method, path.replace(" ", "%20"))[0] in (400, 405)


@pytest.mark.parametrize("link", ["members", "owners"])
def test_lists_of_v1_leave_service_principals_out(ask, azure, link):
    id_ = azure.graph.seed(displayName="Crew")
    for type_ in ("servicePrincipal", "user"):
        azure.graph.link(id_, link, azure.graph.add_object(type_=type_))

    def listed(version):
        _, page, _ = ask("GET", f"/groups/{id_}/{link}", version=version)
        return [entry["@odata.type"].rpartition(".")[2] for entry in page["value"]]

    assert listed("v1.0") == ["user"]
    assert listed("beta") == ["servicePrincipal", "user"]


def test_hidden_members_are_listed_nowhere(ask, azure):
    id_ = azure.graph.seed(displayName="Hidden")
    azure.graph.link(id_, "members", azure.graph.add_object())
    azure.graph.change(id_, visibility="HiddenMembership")
    for version in ("v1.0", "beta"):
        assert ask("GET", f"/groups/{id_}/members", version=version)[1]["value"] == []


def test_faults_speak_graphs_words(ask, azure):
    azure.graph.faults.plan(InjectedFault(status=429, retry_after=7, times=1))
    status, body, headers = ask("GET", "/groups")
    assert (status, headers["Retry-After"]) == (429, "7")
    assert body["error"]["code"] == "TooManyRequests"


def test_no_token_is_refused(azure, ask):
    azure.entra.revoke_all()
    status, body, _ = ask("GET", "/groups")
    assert (status, body["error"]["code"]) == (401, "InvalidAuthenticationToken")
