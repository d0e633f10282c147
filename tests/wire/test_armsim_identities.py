"""Every kind of identity signs in at the simulator, through azure-identity as it is."""

import base64
import json
import time

import pytest
import requests
from keypairs import certificate_pem, identity_file, pem, rsa_key

from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.credentials import CloudConfig, CredentialError
from asoreconcile.azure.arm.credentials_certificate import ClientCertificate
from asoreconcile.azure.arm.credentials_federated import (
    ManagedIdentity,
    WorkloadIdentity,
)
from asoreconcile.azure.arm.credentials_identity_file import IdentityFile
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.base.clock import SystemClock
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.arm.applications import EntraApplication
from asoreconcile.testing.arm.assertions import Federated

ISSUER = "https://cluster.example/"
SUBJECT = "system:serviceaccount:azureserviceoperator-system:default"


@pytest.fixture
def azure(tmp_path, monkeypatch):
    with ArmServer() as server:
        server.write_ca(tmp_path / "ca.pem")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
        yield server


@pytest.fixture
def cloud(azure):
    return CloudConfig(authority_host=azure.authority, endpoint=azure.url)


def signs_in(azure, source):
    """Whether ARM takes the credential's tokens."""
    client = ArmClient(
        azure.url,
        source.credential(),
        scope=source.cloud.scope,
        clock=SystemClock(),
    )
    try:
        client.get(f"/subscriptions/{azure.subscription_id}/resourceGroups/none", "1")
    except ArmError as error:
        return error.code == "InvalidApiVersionParameter"
    finally:
        client.close()
    return False


def certificate_of(content):
    begin = content.index(b"-----BEGIN CERTIFICATE-----")
    return content[begin:]


def test_a_registered_certificate_signs_in(azure, cloud):
    content = pem(rsa_key())
    azure.entra.register(
        EntraApplication("app", certificates=(certificate_of(content),)),
    )
    source = ClientCertificate(azure.tenant_id, "app", content, cloud=cloud)
    assert signs_in(azure, source)


def test_a_certificate_nobody_registered_does_not(azure, cloud):
    azure.entra.register(EntraApplication("app"))
    source = ClientCertificate(azure.tenant_id, "app", pem(rsa_key()), cloud=cloud)
    with pytest.raises(CredentialError, match="AADSTS700027"):
        signs_in(azure, source)


def test_a_file_of_the_identity_data_plane_signs_in_and_is_followed(
    azure, cloud, tmp_path
):
    """The authority, the tenant and the client are the file's, and it is renewed."""
    file = tmp_path / "identity.json"
    for name in ("first", "second"):
        certificates = (certificate_pem(rsa_key()),)
        azure.entra.register(EntraApplication(name, certificates=certificates))
    file.write_text(identity_file(azure.tenant_id, "first", azure.authority))
    elsewhere = CloudConfig(
        authority_host="https://login.invalid/", endpoint=cloud.endpoint
    )
    source = IdentityFile(str(file), "other", "other", cloud=elsewhere)
    credential = source.credential()

    def signed_in():
        token = credential.get_token(cloud.scope).token
        return azure.entra.grant(token).client_id

    assert signs_in(azure, source)
    assert signed_in() == "first"
    renewed = identity_file(
        azure.tenant_id, "second", azure.authority, not_before="2026-02-15T00:00:00Z"
    )
    (tmp_path / "next").write_text(renewed)
    (tmp_path / "next").replace(file)
    assert signed_in() == "second"


def projected(**changes):
    claims = {
        "iss": ISSUER,
        "sub": SUBJECT,
        "aud": ["api://AzureADTokenExchange"],
        "exp": int(time.time()) + 600,
        **changes,
    }
    parts = ({"alg": "RS256"}, claims)
    encoded = [
        base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=")
        for p in parts
    ]
    return ".".join([*encoded, "c2ln"])


@pytest.fixture
def workload(azure, cloud, tmp_path):
    azure.entra.register(
        EntraApplication("app", federated=(Federated(ISSUER, SUBJECT),))
    )

    def source(token):
        (tmp_path / "token").write_text(token)
        return WorkloadIdentity(
            azure.tenant_id, "app", cloud=cloud, token_file=str(tmp_path / "token")
        )

    return source


def test_a_federated_service_account_signs_in(azure, workload):
    assert signs_in(azure, workload(projected()))


@pytest.mark.parametrize(
    ("token", "code"),
    [
        ({"sub": "system:serviceaccount:default:stranger"}, "AADSTS70021"),
        ({"aud": "api://other"}, "AADSTS70021"),
        ({"exp": 1}, "AADSTS700024"),
        ("no.token.atall", "AADSTS50027"),
        ("nothing", "AADSTS50027"),
    ],
    ids=["subject", "audience", "expired", "garbage", "no-jwt"],
)
def test_other_tokens_do_not(azure, workload, token, code):
    # Made here, not when tests are collected: that may be longer ago than a token lives.
    written = projected(**token) if isinstance(token, dict) else token
    with pytest.raises(CredentialError, match=code):
        signs_in(azure, workload(written))


@pytest.fixture
def machine(azure, monkeypatch):
    with azure.machine(own="own-identity") as made:
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", made.url)
        assert made.environment == {"AZURE_POD_IDENTITY_AUTHORITY_HOST": made.url}
        yield made


def test_a_machines_identities_sign_in(azure, cloud, machine):
    for client_id in (azure.client_id, ""):
        assert signs_in(azure, ManagedIdentity(client_id, cloud=cloud))


def test_an_identity_that_is_not_assigned_does_not(azure, cloud, machine):
    with pytest.raises(CredentialError, match="Identity not found"):
        signs_in(azure, ManagedIdentity("stranger", cloud=cloud))


def test_app_services_form_of_a_machine(azure, cloud, monkeypatch):
    with azure.machine(own="own-identity") as made:
        for name, value in made.app_service_environment.items():
            monkeypatch.setenv(name, value)
        assert signs_in(azure, ManagedIdentity("", cloud=cloud))


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/metadata/identity/oauth2/token", {}, 400),
        ("/metadata/identity/oauth2/token", {"Metadata": "true"}, 400),
        ("/msi/token", {}, 403),
        ("/elsewhere", {}, 404),
    ],
)
def test_a_machine_refuses_what_azure_would(machine, path, headers, status):
    refused = requests.get(machine.url + path, headers=headers, timeout=10)
    assert refused.status_code == status
