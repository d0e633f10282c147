"""The simulator's token endpoint, asked as any OAuth client asks Entra."""

import pytest
import requests

from asoreconcile.testing.arm import ArmServer

SCOPE = "https://management.core.windows.net//.default"


@pytest.fixture(scope="module")
def azure():
    with ArmServer() as server:
        yield server


@pytest.fixture
def session(azure, tmp_path):
    azure.write_ca(tmp_path / "ca.pem")
    with requests.Session() as plain:
        plain.trust_env = False
        plain.verify = str(tmp_path / "ca.pem")
        yield plain


def form(azure, **changes):
    return {
        "grant_type": "client_credentials",
        "client_id": azure.client_id,
        "client_secret": azure.client_secret,
        "scope": SCOPE,
        **changes,
    }


def ask(azure, session, *, tenant="", **changes):
    url = f"{azure.authority}/{tenant or azure.tenant_id}/oauth2/v2.0/token"
    return session.post(url, data=form(azure, **changes), timeout=10)


def test_right_secret_gives_a_bearer_token_that_arm_takes(azure, session):
    given = ask(azure, session)
    assert given.status_code == 200
    assert given.json()["token_type"] == "Bearer"
    assert given.json()["expires_in"] == 3600
    url = f"{azure.url}/subscriptions/{azure.subscription_id}/resourceGroups/none"
    token = given.json()["access_token"]
    found = session.get(
        url,
        params={"api-version": "2020-06-01"},
        headers={"Authorization": f"Bearer {token}"},
        timeout=10,
    )
    assert found.json()["error"]["code"] == "ResourceGroupNotFound"


def test_tenant_and_client_are_compared_without_case(azure, session):
    tenant, client = azure.tenant_id.upper(), azure.client_id.upper()
    assert ask(azure, session, tenant=tenant, client_id=client).status_code == 200


@pytest.mark.parametrize(
    ("changes", "status", "error", "code"),
    [
        ({"client_secret": "guess"}, 401, "invalid_client", 7000215),
        ({"client_secret": ""}, 401, "invalid_client", 7000218),
        ({"client_id": "no-such-app"}, 400, "unauthorized_client", 700016),
        ({"scope": "https://management.azure.com/"}, 400, "invalid_scope", 1002012),
        ({"scope": ""}, 400, "invalid_request", 900144),
        (
            {"scope": "https://elsewhere.example/.default"},
            400,
            "invalid_resource",
            500011,
        ),
        ({"tenant": "0000"}, 400, "invalid_tenant", 90002),
        ({"grant_type": "password"}, 400, "unsupported_grant_type", 70003),
        ({"grant_type": ""}, 400, "invalid_request", 900144),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_refusals_have_entras_shape(azure, session, changes, status, error, code):
    refused = ask(azure, session, **changes)
    body = refused.json()
    assert refused.status_code == status
    assert body["error"] == error
    assert body["error_codes"] == [code]
    assert body["error_description"].startswith(f"AADSTS{code}: ")
    assert {"timestamp", "trace_id", "correlation_id"} <= body.keys()
    assert azure.client_secret not in refused.text
    assert "guess" not in refused.text


def test_scopes_of_openid_beside_it_are_passed_over(azure, session):
    """As MSAL for Go asks, in Azure Service Operator's sign-in."""
    scope = (
        "https://management.core.windows.net//.default openid offline_access profile"
    )

    assert ask(azure, session, scope=scope).status_code == 200


def test_openid_configuration_names_this_authority(azure, session):
    url = f"{azure.authority}/{azure.tenant_id}/v2.0/.well-known/openid-configuration"
    found = session.get(url, timeout=10).json()
    assert found["issuer"] == f"{azure.authority}/{azure.tenant_id}/v2.0"
    assert found["token_endpoint"].startswith(f"{azure.authority}/{azure.tenant_id}/")
    assert "private_key_jwt" in found["token_endpoint_auth_methods_supported"]


def test_unknown_paths_are_404(azure, session):
    url = f"{azure.authority}/{azure.tenant_id}/oauth2/v2.0/devicecode"
    assert session.get(url, timeout=10).status_code == 404


def test_expired_and_revoked_tokens_are_401_at_arm(session):
    with ArmServer(token_lifetime_seconds=0) as azure, azure.session() as signed_in:
        path = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg"
        assert signed_in.get(path).status_code == 401
    with ArmServer() as azure, azure.session() as signed_in:
        path = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg"
        assert signed_in.get(path).status_code == 404
        azure.entra.revoke_all()
        refused = signed_in.get(path)
        assert refused.status_code == 401
        assert refused.headers["WWW-Authenticate"].startswith("Bearer ")
        assert azure.authority in refused.headers["WWW-Authenticate"]
