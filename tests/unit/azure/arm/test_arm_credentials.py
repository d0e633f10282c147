"""Credential values, clouds, and what is made of them."""

import traceback

import attrs
import certifi
import pytest
from azure.core.exceptions import ClientAuthenticationError

from asoreconcile.azure.arm.ca_bundle import CertificateBundleError, ca_bundle
from asoreconcile.azure.arm.condition_error import RetryClass
from asoreconcile.azure.arm.credentials import (
    ClientSecret,
    CloudConfig,
    CredentialError,
    identity_options,
)

CANARY = "canary-secret-1a2b3c"
SOURCE = ClientSecret("tenant", "client", CANARY, subscription_id="s")


@pytest.fixture(autouse=True)
def no_bundles(monkeypatch):
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)


def test_the_default_cloud_is_public_azure():
    cloud = CloudConfig()
    assert cloud == CloudConfig("", "", " ")
    assert cloud.authority_host == "https://login.microsoftonline.com/"
    assert cloud.endpoint == "https://management.azure.com"
    assert cloud.audience == "https://management.core.windows.net/"


@pytest.mark.parametrize(
    ("audience", "scope"),
    [
        ("", "https://management.core.windows.net//.default"),
        ("https://management.azure.com", "https://management.azure.com/.default"),
        ("https://management.azure.com/", "https://management.azure.com//.default"),
        (
            "https://management.core.usgovcloudapi.net",
            "https://management.core.usgovcloudapi.net/.default",
        ),
    ],
)
def test_the_scope_keeps_the_audiences_final_slash(audience, scope):
    assert CloudConfig(audience=audience).scope == scope


@pytest.mark.parametrize(
    ("authority", "listed"),
    [
        ("https://login.microsoftonline.com/", True),
        ("https://login.microsoftonline.us", True),
        ("https://login.partner.microsoftonline.cn/", True),
        ("https://login.chinacloudapi.cn", True),
        ("https://adfs.local.azurestack.external/adfs", False),
        ("https://127.0.0.1:8443", False),
        ("https://login.microsoftonline.com.evil.example", False),
    ],
)
def test_instance_discovery_is_for_listed_authorities_only(authority, listed):
    options = identity_options(CloudConfig(authority_host=authority))
    assert options["disable_instance_discovery"] is not listed
    assert options["authority"] == authority


def test_tokens_are_asked_for_once_and_in_bounded_time():
    options = identity_options(CloudConfig())
    assert options["retry_total"] == 0
    assert options["transport"]._read_seconds <= 30


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"])
def test_the_environments_bundle_verifies_entra_too(variable, monkeypatch, tmp_path):
    bundle = tmp_path / "ca.pem"
    bundle.write_text("x")
    monkeypatch.setenv(variable, str(bundle))
    with pytest.raises(CertificateBundleError, match=r"ca\.pem"):
        identity_options(CloudConfig())


def test_a_secret_is_in_no_repr():
    assert CANARY not in repr(SOURCE)
    assert CANARY not in repr(SOURCE.credential())


def test_a_malformed_credential_is_a_credential_error():
    with pytest.raises(CredentialError) as caught:
        attrs.evolve(SOURCE, tenant_id="no/tenant").credential()
    assert CANARY not in "".join(traceback.format_exception(caught.value))


class Refused:
    """A credential whose failure quotes the secret."""

    def __init__(self, *args, **options):
        self.options = options

    def get_token(self, *scopes, **options):
        raise ClientAuthenticationError(f"AADSTS1: wrong secret {CANARY}")


def test_d12_a_refusal_names_the_client_and_no_secret(monkeypatch):
    monkeypatch.setattr("azure.identity.ClientSecretCredential", Refused)
    source = attrs.evolve(SOURCE, origin="Secret ns/creds")
    with pytest.raises(CredentialError) as caught:
        source.credential().get_token("scope")
    error = caught.value
    assert (
        "no token for client client (Secret ns/creds): AADSTS1: wrong secret ***"
        in str(error)
    )
    assert (error.reason, error.severity, error.retry) == (
        "CredentialError",
        "Warning",
        RetryClass.SLOW,
    )
    assert CANARY not in "".join(traceback.format_exception(error))
    assert error.__cause__ is None is error.__context__


def test_certifis_bundle_is_the_default():
    assert ca_bundle() == certifi.where()
