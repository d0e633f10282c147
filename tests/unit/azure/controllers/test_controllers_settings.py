"""The operator's settings: what is read, and what is said of mistakes."""

import attrs
import pytest
from keypairs import identity_file, pem, rsa_key

from asoreconcile.azure.arm.credentials import ClientSecret
from asoreconcile.azure.arm.credentials_certificate import ClientCertificate
from asoreconcile.azure.arm.credentials_federated import (
    ManagedIdentity,
    WorkloadIdentity,
)
from asoreconcile.azure.arm.credentials_identity_file import IdentityFile
from asoreconcile.azure.controllers.settings import (
    KNOWN,
    OperatorMode,
    RateLimit,
    SettingsError,
    from_environment,
    parse_duration,
)
from asoreconcile.azure.reconcile.model.policy import Policy
from asoreconcile.azure.reconcile.model.sync_mode import (
    BulkReads,
    ForeignTags,
    SyncMode,
    Undeclared,
)
from asoreconcile.base.objects import GroupKind

CANARY = "canary-value"
GLOBAL = {
    "POD_NAMESPACE": "ops",
    "AZURE_SUBSCRIPTION_ID": "s",
    "AZURE_TENANT_ID": "t",
    "AZURE_CLIENT_ID": "c",
}
COMPLETE = {**GLOBAL, "AZURE_CLIENT_SECRET": CANARY}


def problems(**environment):
    with pytest.raises(SettingsError) as caught:
        from_environment({"POD_NAMESPACE": "ops", **environment})
    assert CANARY not in str(caught.value)
    return caught.value.problems


def test_defaults_are_aso_s_but_for_syncs_which_read_first():
    settings = from_environment({"POD_NAMESPACE": "ops"})
    assert settings.credential is None
    assert settings.sync_period_seconds == 3600.0
    assert settings.max_concurrent_reconciles == 4
    assert settings.default_policy is Policy.MANAGE
    assert settings.rate_limit is None
    assert settings.sync_mode is SyncMode.COMPARE
    assert settings.undeclared is Undeclared.PUT
    assert settings.force_put_seconds is None
    assert settings.cloud.endpoint == "https://management.azure.com"
    assert not settings.credentials.allow_clouds
    assert settings.credentials.token_file == ("/var/run/secrets/tokens/azure-identity")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("ResourceGrup.resources.azure.com=6h", "did you mean ResourceGroup"),
        ("ResourceGroup=6h", "write it as KIND.GROUP"),
        ("ResourceGroup.resources.azure.com", "is no period"),
        ("ResourceGroup.resources.azure.com=often", "'often' is no period"),
        ("ResourceGroup.resources.azure.com=5s", "too short"),
    ],
)
def test_ow7_a_wrong_period_of_a_kind_is_told(text, part):
    with pytest.raises(SettingsError) as raised:
        from_environment({**COMPLETE, "ASORECONCILE_SYNC_PERIODS": text})
    assert "ASORECONCILE_SYNC_PERIODS" in str(raised.value)
    assert part in str(raised.value)


@pytest.mark.parametrize(
    ("environment", "kind", "notice"),
    [
        ({**COMPLETE, "USE_WORKLOAD_IDENTITY_AUTH": "true"}, WorkloadIdentity,
         "AZURE_CLIENT_SECRET is not used"),
        # The identity of the machine is the last resort.
        (GLOBAL, ManagedIdentity, "managed identity is used"),
        pytest.param({**GLOBAL, "AZURE_ADDITIONAL_TENANTS": "x"}, ManagedIdentity,
                     "AZURE_ADDITIONAL_TENANTS is not", id="H5-managed"),
        ({**COMPLETE, "AZURE_SUBSCRIPTION_ID": ""}, type(None), "no global credential"),
        ({**COMPLETE, "AUTH_MODE": "podidentity"}, ClientSecret, "AUTH_MODE"),
    ],
)  # fmt: skip
def test_the_credential_and_a_notice_of_it(environment, kind, notice):
    settings = from_environment(environment)
    assert type(settings.credential) is kind
    assert settings.credential is None or settings.credential.client_id == "c"
    assert any(notice in one for one in settings.notices)


def test_h5_further_tenants_of_the_settings_are_checked():
    found = problems(**GLOBAL, AZURE_CLIENT_SECRET="s", AZURE_ADDITIONAL_TENANTS="a/b")
    assert list(found) == [
        "AZURE_ADDITIONAL_TENANTS names what is no tenant's GUID or domain: a/b"
    ]


def test_a_certificate_is_checked_at_the_start():
    found = problems(
        **GLOBAL,
        AZURE_CLIENT_CERTIFICATE=CANARY,
        AZURE_CLIENT_CERTIFICATE_PASSWORD=CANARY,
    )
    assert ["neither PEM nor PKCS12" in p for p in found] == [True]


def test_a_certificate_comes_before_a_secret():
    certificate = pem(rsa_key()).decode()
    settings = from_environment({**COMPLETE, "AZURE_CLIENT_CERTIFICATE": certificate})
    assert type(settings.credential) is ClientCertificate
    assert "PRIVATE KEY" not in repr(settings)


def test_an_identity_s_file_is_read_at_the_start_and_needs_no_ids(tmp_path):
    """It comes after a certificate and before a secret, as ASO's."""
    file = tmp_path / "identity.json"
    key = "AZURE_USER_ASSIGNED_IDENTITY_CREDENTIALS"
    environment = {
        "POD_NAMESPACE": "ops",
        "AZURE_SUBSCRIPTION_ID": "s",
        "AZURE_CLIENT_SECRET": CANARY,
        "AZURE_ADDITIONAL_TENANTS": "x",
        key: str(file),
    }
    (problem,) = problems(**environment)
    assert f"{file} cannot be used: it cannot be read" in problem
    file.write_text(identity_file("tenant", "identity", "https://login.example/"))
    settings = from_environment(environment)
    assert type(settings.credential) is IdentityFile
    for name in ("AZURE_CLIENT_SECRET", "AZURE_ADDITIONAL_TENANTS"):
        assert any(n.startswith(f"{name} is not used") for n in settings.notices)
    certificate = {"AZURE_CLIENT_CERTIFICATE": pem(rsa_key()).decode()}
    settings = from_environment({**GLOBAL, **environment, **certificate})
    assert type(settings.credential) is ClientCertificate
    assert any(n.startswith(f"{key} is not used") for n in settings.notices)


def test_what_only_an_sdk_reads_is_refused_before_the_machines_identity():
    found = problems(**GLOBAL, AZURE_CLIENT_CERTIFICATE_PATH="/c")
    assert "AZURE_CLIENT_CERTIFICATE" in found[0]
    from_environment({**COMPLETE, "AZURE_CLIENT_CERTIFICATE_PATH": "/c"})


def test_never_switches_the_sync_off():
    found = from_environment({**COMPLETE, "AZURE_SYNC_PERIOD": "never"})
    assert found.sync_period_seconds is None


def test_all_problems_are_reported_at_once():
    mistakes = {
        "POD_NAMESPACE": " ",
        "AZURE_SUBSCRIPTION_ID": "s/t",
        "AZURE_CLIENT_SECRET": CANARY,
        "AZURE_SYNC_PERIOD": "0",
        "MAX_CONCURRENT_RECONCILES": "many",
        "AZURE_AUTHORITY_HOST": "http://plain.example",
        "USE_WORKLOAD_IDENTITY_AUTH": "yes",
        "ALLOW_MULTI_ENV_MANAGEMENT": "on",
        "RATE_LIMIT_MODE": "leaky",
        "RATE_LIMIT_QPS": "nan",
        "RATE_LIMIT_BUCKET_SIZE": "0",
        "DEFAULT_RECONCILE_POLICY": "keep",
        "ASORECONCILE_BULK_READS": "some",
        "ASORECONCILE_SYNC_MODE": "sometimes",
        "AZURE_OPERATOR_MODE": "everything",
        "AZURE_TARGET_NAMESPACES": "a,B/c",
    }
    found = problems(**mistakes)
    for name in (
        *(name for name in mistakes if name != "AZURE_CLIENT_SECRET"),
        "AZURE_TENANT_ID",
        "AZURE_CLIENT_ID",
    ):
        assert any(p.startswith(name) for p in found), name


ADDRESSES = ("AZURE_AUTHORITY_HOST", "AZURE_RESOURCE_MANAGER_ENDPOINT")


@pytest.mark.parametrize("name", ADDRESSES)
@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("https://login.ex\u0430mple/", "ASCII"),
        ("https://login.example/\nx", "ASCII"),
        ("https://login .example/", "blanks"),
        (f"https://user:{CANARY}@login.example/", "password"),
        ("https://login.example:99999/", "65535"),
        ("https://login.example:0/", "65535"),
        ("https://login.example:port/", "65535"),
        ("https://[::1/", "host"),
        ("https://", "host"),
        ("https:///x", "host"),
        ("https://login.example/?a=b", "query"),
    ],
)
def test_an_address_that_gets_tokens_is_one(name, address, what):
    (problem,) = problems(POD_NAMESPACE="ns", **{name: address})
    assert problem.startswith(name)
    assert what in problem
    assert CANARY not in problem


@pytest.mark.parametrize(
    "text",
    ["team\nX-Evil: 1", "\u043a\u043e\u043c\u0430\u043d\u0434\u0430", "a\x00b", "a\tb"],
)
def test_h2_a_user_agent_s_suffix_can_be_sent(text):
    (problem,) = problems(POD_NAMESPACE="ns", AZURE_USER_AGENT_SUFFIX=text)
    assert problem.startswith("AZURE_USER_AGENT_SUFFIX: the text must be")


def test_what_goes_over_the_wire_is_checked_all_at_once():
    found = problems(
        POD_NAMESPACE="ns",
        AZURE_USER_AGENT_SUFFIX="a\nb",
        AZURE_AUTHORITY_HOST="https://u@a",
        AZURE_RESOURCE_MANAGER_ENDPOINT="https://a:99999",
        AZURE_RESOURCE_MANAGER_AUDIENCE="https://a b",
    )
    assert len(found) == 4


@pytest.mark.parametrize(
    ("text", "namespaces"),
    [("", None), ("a", ("a",)), (" a , b-2,a,", ("a", "b-2"))],
    ids=["every one", "one", "a comma too many"],
)
def test_namespaces_to_watch(text, namespaces):
    environment = {"POD_NAMESPACE": "ops", "AZURE_TARGET_NAMESPACES": text}
    assert from_environment(environment).target_namespaces == namespaces


@pytest.mark.parametrize("text", [",", "a/b", "Upper", "*"])
def test_a_mistake_never_widens_the_scope_to_every_namespace(text):
    (problem,) = problems(AZURE_TARGET_NAMESPACES=text)
    assert problem.startswith("AZURE_TARGET_NAMESPACES")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("AZURE_SUBSCRIPTION", "AZURE_SUBSCRIPTION_ID"),
        ("AZURE_TENNANT_ID", "AZURE_TENANT_ID"),
        ("azure_client_id", "AZURE_CLIENT_ID"),
        ("MAX_CONCURRENT_RECONCILE", "MAX_CONCURRENT_RECONCILES"),
        ("AZURE_SYNC_PERIODS", "AZURE_SYNC_PERIOD"),
        ("RATELIMIT_QPS", "RATE_LIMIT_QPS"),
        ("ALLOW_MULTIENV_MANAGEMENT", "ALLOW_MULTI_ENV_MANAGEMENT"),
    ],
)
def test_a_misspelt_setting_is_named_with_what_is_meant(written, meant):
    assert problems(**{written: CANARY}) == [
        f"{written} is no setting: do you mean {meant}?"
    ]


@pytest.mark.parametrize(
    "name",
    [
        "MY_POD_NAMESPACE",
        "AZURE_CLIENT_PORT",
        "AZURE_CLIENT_CERTIFICATE_PATH",
        "AZURE_CONFIG_DIR",
        "AZURE_SUBSCRIPTION_NAME",
        "PATH",
    ],
)
def test_other_programs_variables_are_left_alone(name):
    from_environment({"POD_NAMESPACE": "ops", name: "x"})


def test_a_misspelt_setting_without_a_value_is_as_good_as_unset():
    from_environment({"POD_NAMESPACE": "ops", "AZURE_SUBSCRIPTION": ""})


@pytest.mark.parametrize(
    ("mode", "watches", "answers", "asked"),
    [
        ("", True, True, False),
        ("watchers", True, False, False),
        ("Watchers", True, False, False),
        ("webhooks", False, True, True),
        ("watchers-and-webhooks", True, True, True),
        ("both", True, True, True),
    ],
)
def test_modes_are_aso_s(mode, watches, answers, asked):
    settings = from_environment({**COMPLETE, "AZURE_OPERATOR_MODE": mode})
    assert settings.notices == ()
    assert settings.mode.watches is watches
    assert settings.mode.answers is answers
    assert settings.wants_webhooks is asked


def test_webhooks_alone_have_no_namespaces_to_watch():
    (problem,) = problems(AZURE_OPERATOR_MODE="webhooks", AZURE_TARGET_NAMESPACES="a")
    assert "write watchers-and-webhooks" in problem


def test_empty_equals_unset():
    settings = from_environment(
        {"POD_NAMESPACE": "ops", **dict.fromkeys(KNOWN, "")} | {"POD_NAMESPACE": "ops"}
    )
    assert settings == from_environment({"POD_NAMESPACE": "ops"})


def test_secret_stays_out_of_the_repr():
    assert CANARY not in repr(from_environment(COMPLETE))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15m", 900),
        ("1h", 3600),
        ("1h30m", 5400),
        ("1.5s", 1.5),
        ("0", 0),
        ("-2m", -120),
    ],
)
def test_go_durations(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "15", "m", "1h 30m", "15min", "1x"])
def test_not_a_duration(text):
    with pytest.raises(ValueError, match="15m"):
        parse_duration(text)


# Every key of ASO's settings is honoured, or said to do nothing.

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
    "AZURE_CLIENT_SECRET": ("x", {}, get("credential.client_secret"), "x"),
    "AZURE_CLIENT_CERTIFICATE": (CERTIFICATE, {}, kind, ClientCertificate),
    "AZURE_CLIENT_CERTIFICATE_PASSWORD": ("not needed",
                                          {"AZURE_CLIENT_CERTIFICATE": CERTIFICATE},
                                          get("credential.password"), "not needed"),
    "AZURE_USER_ASSIGNED_IDENTITY_CREDENTIALS": (A_FILE, {}, kind, IdentityFile),
    "USE_WORKLOAD_IDENTITY_AUTH": (
        "true",
        {"AZURE_ADDITIONAL_TENANTS": "x, y"},
        lambda read: (kind(read), read.credential.additional_tenants),
        (WorkloadIdentity, ("x", "y")),
    ),
    "AZURE_ADDITIONAL_TENANTS": ("a, b", {}, get("credential.additional_tenants"), ("a", "b")),
    "AZURE_AUTHORITY_HOST": ("https://login.example/", {}, get("cloud.authority_host"),
                             "https://login.example/"),
    "AZURE_RESOURCE_MANAGER_ENDPOINT": ("https://arm.example", {},
                                        get("credentials.cloud.endpoint"),
                                        "https://arm.example"),
    "AZURE_RESOURCE_MANAGER_AUDIENCE": ("https://arm.example/", {}, get("cloud.audience"),
                                        "https://arm.example/"),
    "ALLOW_MULTI_ENV_MANAGEMENT": ("1", {}, get("credentials.allow_clouds"), True),
    "POD_NAMESPACE": ("other", {}, get("pod_namespace"), "other"),
    "AZURE_OPERATOR_MODE": ("WATCHERS", {}, get("mode"), OperatorMode.WATCHERS),
    "AZURE_TARGET_NAMESPACES": ("a, b,", {}, get("target_namespaces"), ("a", "b")),
    "AZURE_SYNC_PERIOD": ("15m", {}, get("sync_period_seconds"), 900.0),
    "AZURE_USER_AGENT_SUFFIX": ("team", {}, get("user_agent_suffix"), "team"),
    "MAX_CONCURRENT_RECONCILES": ("9", {}, get("max_concurrent_reconciles"), 9),
    "RATE_LIMIT_MODE": ("Bucket", {}, get("rate_limit"), RateLimit()),
    "RATE_LIMIT_QPS": ("0.5", {"RATE_LIMIT_MODE": "bucket"}, get("rate_limit.qps"), 0.5),
    "RATE_LIMIT_BUCKET_SIZE": ("7", {"RATE_LIMIT_MODE": "bucket"},
                               get("rate_limit.bucket_size"), 7),
    "DEFAULT_RECONCILE_POLICY": ("skip", {}, get("default_policy"), Policy.SKIP),
    "ENTRA_APP_ID": (APP, {}, get("entra_app_id"), APP),
}  # fmt: skip
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
    assert read(without) != expected


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
