"""Every key of ASO's settings is honoured, or said to do nothing."""

import attrs
import pytest
from keypairs import identity_file, pem, rsa_key

from asoreconcile.azure.arm.credentials import ClientSecret
from asoreconcile.azure.arm.credentials_certificate import ClientCertificate
from asoreconcile.azure.arm.credentials_federated import WorkloadIdentity
from asoreconcile.azure.arm.credentials_identity_file import IdentityFile
from asoreconcile.azure.controllers.settings import (
    KNOWN,
    OperatorMode,
    RateLimit,
    from_environment,
)
from asoreconcile.azure.reconcile.model.policy import Policy
from asoreconcile.azure.reconcile.model.sync_mode import (
    BulkReads,
    ForeignTags,
    SyncMode,
    Undeclared,
)
from asoreconcile.base.objects import GroupKind

COMPLETE = {
    "POD_NAMESPACE": "ops",
    "AZURE_SUBSCRIPTION_ID": "s",
    "AZURE_TENANT_ID": "t",
    "AZURE_CLIENT_ID": "c",
    "AZURE_CLIENT_SECRET": "secret",
}
APP = "11111111-2222-3333-4444-555555555555"
A_FILE = "an identity's file"
CERTIFICATE = pem(rsa_key()).decode()


def get(path):
    """What a dotted path of the settings is."""

    def read(settings):
        for name in path.split("."):
            settings = getattr(settings, name)
        return settings

    return read


def kind(settings):
    return type(settings.credential)


# key: value, what else is set, what is read of it
HONOURED = {
    "AZURE_SUBSCRIPTION_ID": ("other", {}, get("credential.subscription_id"), "other"),
    "AZURE_TENANT_ID": ("other", {}, get("credential.tenant_id"), "other"),
    "AZURE_CLIENT_ID": ("other", {}, get("credential.client_id"), "other"),
    "AZURE_CLIENT_SECRET": ("x", {}, kind, ClientSecret),
    "AZURE_CLIENT_CERTIFICATE": (CERTIFICATE, {}, kind, ClientCertificate),
    "AZURE_CLIENT_CERTIFICATE_PASSWORD": (
        "not needed",
        {"AZURE_CLIENT_CERTIFICATE": CERTIFICATE},
        get("credential.password"),
        "not needed",
    ),
    "AZURE_USER_ASSIGNED_IDENTITY_CREDENTIALS": (A_FILE, {}, kind, IdentityFile),
    "USE_WORKLOAD_IDENTITY_AUTH": ("true", {}, kind, WorkloadIdentity),
    "AZURE_ADDITIONAL_TENANTS": (
        "a, b",
        {},
        get("credential.additional_tenants"),
        ("a", "b"),
    ),
    "AZURE_AUTHORITY_HOST": (
        "https://login.example/",
        {},
        get("cloud.authority_host"),
        "https://login.example/",
    ),
    "AZURE_RESOURCE_MANAGER_ENDPOINT": (
        "https://arm.example",
        {},
        get("cloud.endpoint"),
        "https://arm.example",
    ),
    "AZURE_RESOURCE_MANAGER_AUDIENCE": (
        "https://arm.example/",
        {},
        get("cloud.audience"),
        "https://arm.example/",
    ),
    "ALLOW_MULTI_ENV_MANAGEMENT": ("1", {}, get("credentials.allow_clouds"), True),
    "POD_NAMESPACE": ("other", {}, get("pod_namespace"), "other"),
    "AZURE_OPERATOR_MODE": ("WATCHERS", {}, get("mode"), OperatorMode.WATCHERS),
    "AZURE_TARGET_NAMESPACES": ("a, b,", {}, get("target_namespaces"), ("a", "b")),
    "AZURE_SYNC_PERIOD": ("15m", {}, get("sync_period_seconds"), 900.0),
    "AZURE_USER_AGENT_SUFFIX": ("team", {}, get("user_agent_suffix"), "team"),
    "MAX_CONCURRENT_RECONCILES": ("9", {}, get("max_concurrent_reconciles"), 9),
    "RATE_LIMIT_MODE": ("Bucket", {}, get("rate_limit"), RateLimit()),
    "RATE_LIMIT_QPS": (
        "0.5",
        {"RATE_LIMIT_MODE": "bucket"},
        get("rate_limit.qps"),
        0.5,
    ),
    "RATE_LIMIT_BUCKET_SIZE": (
        "7",
        {"RATE_LIMIT_MODE": "bucket"},
        get("rate_limit.bucket_size"),
        7,
    ),
    "DEFAULT_RECONCILE_POLICY": ("skip", {}, get("default_policy"), Policy.SKIP),
    "ENTRA_APP_ID": (APP, {}, get("entra_app_id"), APP),
}
# What does nothing in ASO's controller either: the start says so, and goes on.
SAID = {"AUTH_MODE": "credential Secrets only"}
# What ASO does not have; the file's name is Azure's own, and ASO has decided on the mode
# and not built it yet.
OWN = {
    "POD_UID": ("u-i-d", get("pod_uid"), "u-i-d"),
    "ASORECONCILE_GRAPH_ENDPOINT": (
        "https://dod-graph.microsoft.us",
        get("graph_endpoint"),
        "https://dod-graph.microsoft.us",
    ),
    "ASORECONCILE_EXTENSIONS": ("a, b", get("extensions"), ("a", "b")),
    "AZURE_WORKLOAD_IDENTITY_AUTH_MODE": (
        "Strict",
        get("strict_workload_identity"),
        True,
    ),
    "ASORECONCILE_BULK_READS": ("Off", get("bulk_reads"), BulkReads.OFF),
    "ASORECONCILE_CLOUD_HOSTS": (
        "Login.Example.com, arm.example:8443",
        get("credentials.cloud_hosts"),
        frozenset({"login.example.com", "arm.example:8443"}),
    ),
    "ASORECONCILE_FORCE_PUT_PERIOD": ("24h", get("force_put_seconds"), 86400.0),
    "ASORECONCILE_HOLD_CREDENTIALS": ("true", get("hold_credentials"), True),
    "ASORECONCILE_CHECK_SECRET_ACCESS": ("true", get("check_secret_access"), True),
    "ASORECONCILE_WIDER_CREDENTIALS": ("true", get("wider_credentials"), True),
    "ASORECONCILE_SYNC_PERIODS": (
        "ResourceGroup.resources.azure.com=6h, VirtualNetwork.network.azure.com=never",
        get("sync_periods"),
        {
            GroupKind("resources.azure.com", "ResourceGroup"): 21600.0,
            GroupKind("network.azure.com", "VirtualNetwork"): None,
        },
    ),
    "ASORECONCILE_SYNC_MODE": ("put", get("sync_mode"), SyncMode.PUT),
    "ASORECONCILE_UNDECLARED": ("ignore", get("undeclared"), Undeclared.IGNORE),
    "ASORECONCILE_WAIT_FOR_REFERENCES": ("false", get("wait_for_references"), False),
    "ASORECONCILE_FOREIGN_TAGS": ("replace", get("foreign_tags"), ForeignTags.REPLACE),
    "ASORECONCILE_IGNORE_FIELDS": ("spec.tags.a", get("ignore_fields"), "spec.tags.a"),
    "AZURE_FEDERATED_TOKEN_FILE": ("/t", get("credentials.token_file"), "/t"),
}


def test_the_tables_have_every_key():
    assert {*HONOURED, *SAID, *OWN} == KNOWN


@pytest.mark.parametrize("key", HONOURED)
def test_a_key_of_aso_s_is_honoured(key, tmp_path):
    value, beside, read, expected = HONOURED[key]
    if value == A_FILE:
        value = str(tmp_path / "identity.json")
        content = identity_file("tenant", "client", "https://login.example/")
        (tmp_path / "identity.json").write_text(content)
    assert read(from_environment({**COMPLETE, **beside, key: value})) == expected
    without = from_environment({**COMPLETE, **beside})
    assert read(without) != expected or key == "AZURE_CLIENT_SECRET"


@pytest.mark.parametrize("key", SAID)
def test_a_key_without_effect_is_told(key):
    settings = from_environment({**COMPLETE, key: "x"})
    assert any(n.startswith(key) and SAID[key] in n for n in settings.notices)
    assert attrs.evolve(settings, notices=()) == from_environment(COMPLETE)


@pytest.mark.parametrize("key", OWN)
def test_a_key_that_aso_does_not_have(key):
    value, read, expected = OWN[key]
    assert read(from_environment({**COMPLETE, key: value})) == expected
    others = {
        "AZURE_FEDERATED_TOKEN_FILE",
        "AZURE_WORKLOAD_IDENTITY_AUTH_MODE",
        "POD_UID",
    }
    assert key.startswith("ASORECONCILE_") or key in others
