"""The kind of credential that a Secret has by its keys, and its mistakes."""

import traceback

import pytest

from asoreconcile.azure.arm.credentials import (
    ClientSecret,
    CloudConfig,
    CredentialError,
    auxiliary_tenants,
)
from asoreconcile.azure.arm.credentials_certificate import ClientCertificate
from asoreconcile.azure.arm.credentials_federated import (
    ManagedIdentity,
    WorkloadIdentity,
)
from asoreconcile.azure.arm.credentials_identity_file import IdentityFile
from asoreconcile.azure.arm.credentials_secret import (
    SecretRules,
    credential_in,
    tenants_in,
)

FILE = "AZURE_USER_ASSIGNED_IDENTITY_CREDENTIALS"
CANARY = "canary-value-77"
BASE = {
    "AZURE_SUBSCRIPTION_ID": "sub",
    "AZURE_TENANT_ID": "tenant",
    "AZURE_CLIENT_ID": "client",
}
OWN_CLOUD = {
    "AZURE_AUTHORITY_HOST": "https://login.example/",
    "AZURE_RESOURCE_MANAGER_ENDPOINT": "https://arm.example",
    "AZURE_RESOURCE_MANAGER_AUDIENCE": "https://audience.example",
}
RULES = SecretRules(cloud=CloudConfig(endpoint="https://global.example"))
ANY_CLOUD = SecretRules(
    allow_clouds=True, cloud_hosts=frozenset({"login.example", "arm.example"})
)


def read(rules=RULES, **data):
    encoded = {k: v if isinstance(v, bytes) else v.encode() for k, v in data.items()}
    return credential_in(encoded, rules, origin="Secret ns/s")


def problems(rules=RULES, **data):
    with pytest.raises(CredentialError) as caught:
        read(rules, **data)
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        ({"AZURE_CLIENT_SECRET": CANARY}, ClientSecret),
        ({"AZURE_CLIENT_SECRET": CANARY, "AUTH_MODE": "podidentity"}, ClientSecret),
        (
            {"AZURE_CLIENT_SECRET": CANARY, "AZURE_CLIENT_CERTIFICATE": "x"},
            ClientSecret,
        ),
        ({"AZURE_CLIENT_CERTIFICATE": CANARY}, ClientCertificate),
        ({FILE: "/f", "AUTH_MODE": "podidentity"}, IdentityFile),
        ({FILE: "/f", "AZURE_CLIENT_CERTIFICATE": "x"}, ClientCertificate),
        ({"AUTH_MODE": "podidentity"}, ManagedIdentity),
        ({"AUTH_MODE": "PodIdentity"}, ManagedIdentity),
        ({"AUTH_MODE": "workloadidentity"}, WorkloadIdentity),
        ({"AUTH_MODE": ""}, WorkloadIdentity),
        ({}, WorkloadIdentity),
    ],
)
def test_the_kind_follows_from_the_keys(keys, kind):
    source = read(**BASE, **keys)
    assert type(source) is kind
    assert (source.subscription_id, source.client_id) == ("sub", "client")
    assert source.origin == "Secret ns/s"
    assert source.cloud == RULES.cloud
    assert CANARY not in repr(source)


def test_blanks_and_line_ends_around_values_do_not_count():
    source = read(
        **{key: f" {value}\n" for key, value in BASE.items()},
        AZURE_CLIENT_SECRET="secret\n",
    )
    assert source.subscription_id == "sub"
    assert source.client_secret == "secret"


def test_a_certificate_keeps_its_bytes_and_the_passwords_blanks():
    source = read(
        **BASE,
        AZURE_CLIENT_CERTIFICATE=b"\x30\x82\xff\n",
        AZURE_CLIENT_CERTIFICATE_PASSWORD=" with blanks \n",
    )
    assert source.certificate == b"\x30\x82\xff\n"
    assert source.password == " with blanks "


@pytest.mark.parametrize("keys", [{"AZURE_CLIENT_SECRET": "s"}, {}])
def test_additional_tenants_are_a_comma_list(keys):
    source = read(**BASE, **keys, AZURE_ADDITIONAL_TENANTS="one, two,,")
    assert source.additional_tenants == ("one", "two")
    assert tenants_in("") == ()


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ("", ()),
        ("one, two", ("one", "two")),
        ("t, one, *", ("one",)),
        ("one, ONE, T", ("ONE",)),
    ],
)
def test_h5_neither_its_own_tenant_nor_any_is_a_further_one(listed, expected):
    keys = {**BASE, "AZURE_TENANT_ID": "t", "AZURE_ADDITIONAL_TENANTS": listed}
    assert auxiliary_tenants(read(**keys)) == expected
    assert auxiliary_tenants(read(**keys, AUTH_MODE="podidentity")) == ()


@pytest.mark.parametrize(
    ("listed", "problem"),
    [
        ("a, b, c, d", "names 4 tenants"),
        ("a, ../b", "no tenant's GUID or domain: ../b"),
        ("a b", "no tenant's GUID or domain: a b"),
    ],
)
def test_h5_further_tenants_that_cannot_be_are_named(listed, problem):
    with pytest.raises(CredentialError, match=f"AZURE_ADDITIONAL_TENANTS.*{problem}"):
        read(**BASE, AZURE_ADDITIONAL_TENANTS=listed)


def test_the_token_file_is_the_operators_choice():
    rules = SecretRules(token_file="/elsewhere")
    assert read(rules, **BASE).token_file == "/elsewhere"


def test_r8_3_all_missing_keys_are_named_at_once():
    text = problems(AZURE_CLIENT_SECRET=CANARY)
    for name in BASE:
        assert name in text


def test_a_missing_key_is_named_with_its_misspelling():
    text = problems(
        AZURE_SUBSCRIPTION_ID="sub",
        AZURE_TENANTID=CANARY,
        AZURE_CLIENT_ID="  ",
        AZURE_CLIENT_SECRET=CANARY,
    )
    assert "AZURE_TENANT_ID (is AZURE_TENANTID a misspelling of it?)" in text
    assert "AZURE_CLIENT_ID (it is empty)" in text
    assert "SUBSCRIPTION" not in text


def test_several_kinds_of_mistakes_are_named_at_once():
    text = problems(
        AZURE_TENANT_ID="tenant",
        AZURE_CLIENT_ID=b"\xff",
        AUTH_MODE=CANARY,
        AZURE_AUTHORITY_HOST="https://login.example",
    )
    assert "add AZURE_SUBSCRIPTION_ID" in text
    assert "key AZURE_CLIENT_ID is not text" in text
    assert "add AZURE_CLIENT_ID" not in text
    assert "AUTH_MODE must be workloadidentity or podidentity" in text
    assert "ALLOW_MULTI_ENV_MANAGEMENT=true" in text


@pytest.mark.parametrize("key", ["AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE"])
def test_an_empty_secret_is_a_mistake_and_no_other_kind(key):
    assert f"key {key} is empty" in problems(**BASE, **{key: "\n"})


@pytest.mark.parametrize("value", ["a/b", "../x", f"sub?{CANARY}", "s s"])
def test_a_subscription_id_cannot_bring_parts_of_a_path(value):
    text = problems(**BASE | {"AZURE_SUBSCRIPTION_ID": value})
    assert "AZURE_SUBSCRIPTION_ID is no subscription id" in text


def test_a_file_of_an_identity_is_named_by_its_path():
    assert read(**BASE, **{FILE: " /files/identity.json\n"}).file == (
        "/files/identity.json"
    )
    assert f"key {FILE} is empty" in problems(**BASE, **{FILE: "\n"})


OWN_SECRET = {"AZURE_CLIENT_SECRET": "s"}


def test_a_secret_may_name_its_cloud_if_the_operator_says_so():
    cloud = read(ANY_CLOUD, **BASE, **OWN_SECRET, **OWN_CLOUD).cloud
    assert cloud.authority_host == "https://login.example/"
    assert cloud.endpoint == "https://arm.example"
    assert cloud.scope == "https://audience.example/.default"


@pytest.mark.parametrize("keys", [{}, {"AUTH_MODE": "podidentity"}, {FILE: "/f"}])
def test_the_operator_s_own_identity_goes_to_no_cloud_that_a_secret_names(keys):
    text = problems(ANY_CLOUD, **BASE, **keys, **OWN_CLOUD)
    assert "a cloud of its own needs AZURE_CLIENT_SECRET" in text


@pytest.mark.parametrize("keys", [{}, {"AUTH_MODE": "podidentity"}])
def test_a_secret_may_name_the_operator_s_own_cloud(keys):
    cloud = CloudConfig(
        authority_host=OWN_CLOUD["AZURE_AUTHORITY_HOST"],
        endpoint=OWN_CLOUD["AZURE_RESOURCE_MANAGER_ENDPOINT"],
        audience=OWN_CLOUD["AZURE_RESOURCE_MANAGER_AUDIENCE"],
    )
    rules = SecretRules(cloud=cloud, allow_clouds=True)
    assert read(rules, **BASE, **keys, **OWN_CLOUD).cloud == cloud


@pytest.mark.parametrize(
    ("key", "url"),
    [
        ("AZURE_AUTHORITY_HOST", "https://login.tenant.example/"),
        ("AZURE_AUTHORITY_HOST", "https://login.example.tenant.example/"),
        ("AZURE_RESOURCE_MANAGER_ENDPOINT", "https://tenant.example"),
        ("AZURE_RESOURCE_MANAGER_ENDPOINT", "https://169.254.169.254"),
    ],
)
def test_a_secret_s_cloud_is_on_a_host_that_an_administrator_allows(key, url):
    text = problems(ANY_CLOUD, **BASE, **OWN_SECRET, **OWN_CLOUD | {key: url})
    assert f"{key} is not on a host" in text
    assert "ASORECONCILE_CLOUD_HOSTS" in text
    hosts = frozenset({"login.example", "arm.example", url.split("/")[2]})
    rules = SecretRules(allow_clouds=True, cloud_hosts=hosts)
    assert read(rules, **BASE, **OWN_SECRET, **OWN_CLOUD | {key: url})


def test_azure_s_own_clouds_are_allowed():
    china = {
        "AZURE_AUTHORITY_HOST": "https://login.chinacloudapi.cn",
        "AZURE_RESOURCE_MANAGER_ENDPOINT": "https://Management.ChinaCloudApi.cn",
        "AZURE_RESOURCE_MANAGER_AUDIENCE": "https://management.core.chinacloudapi.cn",
    }
    assert read(SecretRules(allow_clouds=True), **BASE, **OWN_SECRET, **china)


def test_a_cloud_of_its_own_needs_the_operators_leave():
    text = problems(**BASE, **OWN_CLOUD)
    assert "ALLOW_MULTI_ENV_MANAGEMENT=true" in text
    for key in OWN_CLOUD:
        assert key in text


@pytest.mark.parametrize("absent", OWN_CLOUD)
def test_r8_5_two_of_three_cloud_keys_are_a_mistake(absent):
    given = {key: value for key, value in OWN_CLOUD.items() if key != absent}
    text = problems(ANY_CLOUD, **BASE, **given)
    assert f"without {absent}: give all three or none" in text


def test_r8_5_one_of_three_cloud_keys_is_a_mistake():
    text = problems(ANY_CLOUD, **BASE, AZURE_AUTHORITY_HOST="https://login.example")
    assert (
        "AZURE_AUTHORITY_HOST without AZURE_RESOURCE_MANAGER_ENDPOINT and "
        "AZURE_RESOURCE_MANAGER_AUDIENCE" in text
    )


def test_a_token_is_never_sent_in_the_clear():
    plain = OWN_CLOUD | {"AZURE_RESOURCE_MANAGER_ENDPOINT": "http://arm.example"}
    text = problems(ANY_CLOUD, **BASE, **plain)
    assert "AZURE_RESOURCE_MANAGER_ENDPOINT must begin with https://" in text
