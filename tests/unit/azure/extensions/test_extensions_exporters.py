"""Secret exporters: requests, sources and silence, row by row of the inventory."""

import base64
import logging

import pytest
from extensions_chains import cr, default, group_kind, version

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.requests import ExportSecrets
from asoreconcile.azure.testing.extensions import ARM_ID, FakeArm, fake_ctx

CANARY = "c4n4ry"
PAIR = {"primaryKey": f"{CANARY}-pk", "secondaryKey": f"{CANARY}-sk"}
FOUR = PAIR | {
    "primaryConnectionString": f"{CANARY}-pcs",
    "secondaryConnectionString": f"{CANARY}-scs",
}
ROOT = "uthorizationRules/RootManageSharedAccessKey/listKeys"
MASTER = {
    name: f"{CANARY}-{name}"
    for name in (
        "primaryMasterKey",
        "secondaryMasterKey",
        "primaryReadonlyMasterKey",
        "secondaryReadonlyMasterKey",
    )
}
STORAGE = {
    "keys": [
        {"keyName": "key2", "value": f"{CANARY}-2"},
        {"keyName": "key1", "value": f"{CANARY}-1"},
    ]
}


def kubeconfig(text):
    value = base64.b64encode(text.encode()).decode()
    return {"kubeconfigs": [{"name": "cluster", "value": value}]}


APP_CONFIGURATION = [
    {
        "name": name,
        "id": f"{name}-id",
        "value": name,
        "connectionString": f"{name}-cs",
    }
    for name in ("Secondary Read Only", "Primary", "Primary Read Only", "Secondary")
]
POLICIES = {
    "iotHubOwner": "iothubowner",
    "service": "service",
    "device": "device",
    "registryRead": "registryRead",
    "registryReadWrite": "registryReadWrite",
}
REGISTRY = {
    "username": f"{CANARY}-user",
    "passwords": [
        {"name": "password2", "value": f"{CANARY}-p2"},
        {"name": "password", "value": f"{CANARY}-p1"},
    ],
}
TWO = {"key1": f"{CANARY}-1", "key2": f"{CANARY}-2"}
SHARED = {
    "primarySharedKey": f"{CANARY}-psk",
    "secondarySharedKey": f"{CANARY}-ssk",
}

# kind -> (action, answer of Azure, key -> value). Section 3.8.
REQUESTS = [
    ("apimanagement/ServiceGateway", "listKeys",
     {"primary": f"{CANARY}-pk", "secondary": f"{CANARY}-sk"}, PAIR),
    ("apimanagement/Subscription", "listSecrets", PAIR, PAIR),
    (
        "appconfiguration/ConfigurationStore",
        "listKeys",
        {"value": APP_CONFIGURATION},
        {
            f"{which}{access}{part}": f"{which.title()}{listed}{suffix}"
            for which in ("primary", "secondary")
            for access, listed in (("", ""), ("ReadOnly", " Read Only"))
            for part, suffix in (
                ("KeyID", "-id"),
                ("Key", ""),
                ("ConnectionString", "-cs"),
            )
        },
    ),
    ("cognitiveservices/Account", "listKeys", TWO, TWO),
    ("communication/CommunicationService", "listKeys", FOUR, FOUR),
    (
        "devices/IotHub",
        "listkeys",
        {
            "value": [
                {
                    "keyName": name,
                    "primaryKey": f"{name}-p",
                    "secondaryKey": f"{name}-s",
                }
                for name in POLICIES.values()
            ]
        },
        {f"{key}PrimaryKey": f"{name}-p" for key, name in POLICIES.items()}
        | {f"{key}SecondaryKey": f"{name}-s" for key, name in POLICIES.items()},
    ),
    ("eventgrid/Topic", "listKeys", TWO, TWO),
    (
        "machinelearningservices/Workspace",
        "listKeys",
        {
            "appInsightsInstrumentationKey": f"{CANARY}-ai",
            "userStorageKey": f"{CANARY}-us",
            "notebookAccessKeys": {
                "primaryAccessKey": f"{CANARY}-np",
                "secondaryAccessKey": f"{CANARY}-ns",
            },
            "containerRegistryCredentials": REGISTRY,
        },
        {
            "appInsightsInstrumentationKey": f"{CANARY}-ai",
            "userStorageKey": f"{CANARY}-us",
            "primaryNotebookAccessKey": f"{CANARY}-np",
            "secondaryNotebookAccessKey": f"{CANARY}-ns",
            "containerRegistryUserName": f"{CANARY}-user",
            "containerRegistryPassword": f"{CANARY}-p1",
            "containerRegistryPassword2": f"{CANARY}-p2",
        },
    ),
    ("notificationhubs/Namespace", f"A{ROOT}", FOUR, FOUR),
    ("notificationhubs/NotificationHub",
     "AuthorizationRules/DefaultFullSharedAccessSignature/listKeys", FOUR, FOUR),
    ("operationalinsights/Workspace", "sharedKeys", SHARED, SHARED),
    ("redhatopenshift/OpenShiftCluster", "listAdminCredentials",
     {"kubeconfig": f"{CANARY}-kc"}, {"adminCredentials": f"{CANARY}-kc"}),
    ("redhatopenshift/OpenShiftCluster", "listCredentials",
     {"kubeadminUsername": "kubeadmin", "kubeadminPassword": f"{CANARY}-pw"},
     {"username": "kubeadmin", "password": f"{CANARY}-pw"}),
    ("redhatopenshift/HcpOpenShiftCluster", "requestAdminCredential",
     {"kubeconfig": f"{CANARY}-kc"}, {"adminCredentials": f"{CANARY}-kc"}),
    ("search/SearchService", "listQueryKeys",
     {"value": [{"name": "mine", "key": "other"}, {"name": None, "key": f"{CANARY}-q"}]},
     {"queryKey": f"{CANARY}-q"}),
    ("search/SearchService", "listAdminKeys", PAIR,
     {"adminPrimaryKey": f"{CANARY}-pk", "adminSecondaryKey": f"{CANARY}-sk"}),
    ("signalrservice/SignalR", "listKeys", FOUR, FOUR),
    ("cache/Redis", "listKeys", PAIR, PAIR),
    ("cache/RedisEnterpriseDatabase", "listKeys", PAIR, PAIR),
    ("containerservice/ManagedCluster", "listClusterAdminCredential",
     kubeconfig(f"{CANARY}-admin"), {"adminCredentials": f"{CANARY}-admin"}),
    ("containerservice/ManagedCluster", "listClusterUserCredential",
     kubeconfig(f"{CANARY}-user"), {"userCredentials": f"{CANARY}-user"}),
    ("documentdb/DatabaseAccount", "listKeys", MASTER, MASTER),
    ("eventhub/Namespace", f"a{ROOT}", FOUR, FOUR),
    ("eventhub/NamespacesAuthorizationRule", "listKeys", FOUR, FOUR),
    ("eventhub/NamespacesEventhubsAuthorizationRule", "listKeys", FOUR, FOUR),
    ("servicebus/Namespace", f"A{ROOT}", FOUR, FOUR),
    ("servicebus/NamespacesAuthorizationRule", "listKeys", FOUR, FOUR),
    ("servicebus/TopicAuthorizationRule", "ListKeys", FOUR, FOUR),
    ("storage/StorageAccount", "listKeys", STORAGE,
     {"key1": f"{CANARY}-1", "key2": f"{CANARY}-2"}),
]  # fmt: skip
HOST = {"fullyQualifiedDomainName": "db.example.com"}
SERVICES = ("blob", "queue", "table", "file", "web", "dfs")
# kind -> (status, key -> value): no request at all.
STATUSES = [
    ("dbforpostgresql/FlexibleServer", HOST, HOST),
    ("dbformysql/FlexibleServer", HOST, HOST),
    ("dbformariadb/Server", HOST, HOST),
    ("cache/Redis", {"hostName": "r.example.com", "port": 6379, "sslPort": 6380},
     {"hostName": "r.example.com", "port": "6379", "sslPort": "6380"}),
    ("documentdb/DatabaseAccount", {"documentEndpoint": "https://d/"},
     {"documentEndpoint": "https://d/"}),
    (
        "managedidentity/UserAssignedIdentity",
        {
            "clientId": "c",
            "principalId": "p",
            "tenantId": "t",
            "id": "/subscriptions/sub/resourceGroups/rg/providers/a/b/c",
        },
        {"clientId": "c", "principalId": "p", "tenantId": "t", "subscriptionId": "sub"},
    ),
    ("servicebus/Namespace", {"serviceBusEndpoint": "https://s/"}, {"endpoint": "https://s/"}),
    ("storage/StorageAccount",
     {"primaryEndpoints": {name: f"https://{name}/" for name in SERVICES}},
     {f"{name}Endpoint": f"https://{name}/" for name in SERVICES}),
]  # fmt: skip
REQUEST_IDS = [f"{row[0]}-{row[1].rpartition('/')[2]}" for row in REQUESTS]
STATUS_IDS = [row[0] for row in STATUSES]
ROWS = [(kind, keys) for kind, *_, keys in (*REQUESTS, *STATUSES)]
KINDS = sorted({kind for kind, _ in ROWS})


def asking(kind, keys, status=None):
    """The newest CR that can ask for the keys, each for a Secret key of its own."""
    secrets = {key: {"name": "out", "key": key.lower()} for key in keys}
    return cr(kind, spec={"operatorSpec": {"secrets": secrets}}, status=status)


def exported(obj, kind, *extra, arm=None):
    ctx = fake_ctx(version(kind), arm=arm or FakeArm())
    chain = default().chain(EXPORT_SECRETS, group_kind(kind))
    return chain(ExportSecrets(ctx, obj, frozenset(extra)))


def azure(kind, action, answer):
    return FakeArm().on("POST", f"/{action}", version(kind).api_version, answer)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_requested_makes_no_request_and_exports_nothing(kind):
    export = exported(cr(kind), kind)
    assert (export.secrets, dict(export.raw)) == ((), {})


@pytest.mark.parametrize(
    ("kind", "action", "answer", "keys"), REQUESTS, ids=REQUEST_IDS
)
def test_requested_keys_cost_one_request_at_the_object_s_version(
    kind, action, answer, keys
):
    arm = azure(kind, action, answer)
    export = exported(asking(kind, keys), kind, arm=arm)
    assert {one.key: one.value for one in export.secrets} == {
        key.lower(): value for key, value in keys.items()
    }
    assert arm.sent == [("POST", f"{ARM_ID}/{action}", version(kind).api_version)]
    assert dict(export.raw) == {}


@pytest.mark.parametrize(
    ("kind", "action", "answer", "keys"), REQUESTS, ids=REQUEST_IDS
)
def test_b4_b5_b6_b7_keys_that_only_expressions_use_come_raw(
    kind, action, answer, keys
):
    arm = azure(kind, action, answer)
    export = exported(cr(kind), kind, *keys, arm=arm)
    assert (export.secrets, dict(export.raw)) == ((), keys)
    assert len(arm.sent) == 1


def blanked(answer):
    """An answer with every text in it emptied, names aside."""
    if isinstance(answer, dict):
        return {k: v if k == "name" else blanked(v) for k, v in answer.items()}
    if isinstance(answer, list):
        return [blanked(one) for one in answer]
    return "" if isinstance(answer, str) else answer


@pytest.mark.parametrize(
    ("kind", "action", "answer", "keys"), REQUESTS, ids=REQUEST_IDS
)
def test_b11_an_empty_key_is_a_missing_one(kind, action, answer, keys):
    """An expression does not see it; a destination for it is an error."""
    arm = azure(kind, action, blanked(answer))
    found = exported(cr(kind), kind, *keys, arm=arm)
    assert (found.secrets, found.raw) == ((), {})
    with pytest.raises(ConditionError, match="holds no value"):
        exported(asking(kind, keys), kind, arm=arm)


@pytest.mark.parametrize(("kind", "status", "keys"), STATUSES, ids=STATUS_IDS)
def test_what_the_status_has_costs_no_request(kind, status, keys):
    export = exported(asking(kind, keys, status), kind)
    assert {one.key: one.value for one in export.secrets} == {
        key.lower(): value for key, value in keys.items()
    }


@pytest.mark.parametrize(("kind", "status", "keys"), STATUSES, ids=STATUS_IDS)
def test_what_the_status_lacks_is_named_in_the_error(kind, status, keys):
    with pytest.raises(ConditionError, match=f'"{min(keys)}"'):
        exported(asking(kind, keys), kind)


def test_an_action_that_azure_does_not_list_is_asked_at_another_version():
    kind, answer = "operationalinsights/Workspace", SHARED
    old = version(kind, "v1api20210601")
    assert old.api_version == "2021-06-01"
    arm = FakeArm().on("POST", "/sharedKeys", "2020-08-01", answer)
    chain = default().chain(EXPORT_SECRETS, group_kind(kind))
    chain(ExportSecrets(fake_ctx(old, arm=arm), cr(kind), frozenset(answer)))
    assert len(arm.sent) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_the_kind_declares_is_exported_by_some_row(kind):
    declared = set()
    for name in builtin().kind(group_kind(kind)).versions:
        declared |= set(version(kind, name).exports.secrets)
    assert declared == {key for one, keys in ROWS if one == kind for key in keys}


@pytest.mark.parametrize(
    ("kind", "action", "answer", "keys"), REQUESTS, ids=REQUEST_IDS
)
def test_values_go_into_the_export_and_nowhere_else(kind, action, answer, keys, caplog):
    caplog.set_level(logging.DEBUG)
    arm = azure(kind, action, answer)
    export = exported(asking(kind, keys), kind, *keys, arm=arm)
    shown = {one.value for one in export.secrets if CANARY in one.value}
    assert shown == {value for value in keys.values() if CANARY in value}
    broken = azure(kind, action, answer | {min(keys): ""})
    text = ""
    if min(keys) in answer and len(keys) > 1:
        with pytest.raises(ConditionError) as raised:
            exported(asking(kind, keys), kind, arm=broken)
        text = str(raised.value) + repr(raised.value)
    assert CANARY not in caplog.text + repr(export) + text


def test_each_kind_of_kubeconfig_is_fetched_only_when_wanted():
    kind = "containerservice/ManagedCluster"
    arm = azure(kind, "listClusterAdminCredential", kubeconfig("a"))
    own = version(kind).api_version
    arm.on("POST", "/listClusterUserCredential", own, kubeconfig("u"))
    obj = asking(kind, ["adminCredentials"])
    export = exported(obj, kind, "userCredentials", arm=arm)
    assert [one.value for one in export.secrets] == ["a"]
    assert dict(export.raw) == {"userCredentials": "u"}
    assert len(arm.sent) == 2


ODD = [None, True, False, 1.5, "", [], {}, [None], ["x"], [[]], {"x": 1}, [5]]


def spoilt(value, odd):
    """The value as often as it has parts, another part of it odd each time."""
    yield odd
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from ({**value, name: other} for other in spoilt(inner, odd))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            for other in spoilt(inner, odd):
                yield [*value[:at], other, *value[at + 1 :]]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize(
    ("kind", "action", "answer", "keys"), REQUESTS, ids=REQUEST_IDS
)
def test_no_secret_is_made_of_an_odd_answer(kind, action, answer, keys, odd):
    """Each key is what Azure sends for it, or an error says that there is none."""
    # Of two query keys without a name the first one is as good.
    nameless = {"other"} if odd in (None, "") else set()
    for other in spoilt(answer, odd):
        for key in keys:
            arm = azure(kind, action, other)
            values, problem = set(), ""
            try:
                export = exported(asking(kind, {key: ""}), kind, arm=arm)
                values = {one.value for one in export.secrets}
            except ConditionError as error:
                problem = str(error)
            assert values <= {keys[key]} | nameless
            assert (f'"{key}"' in problem) is not bool(values)
            assert CANARY not in problem


@pytest.mark.parametrize(
    "configs",
    [
        *(5, True, "x", {"name": "a"}, [None], ["x"], [{}], [{"value": 5}]),
        *([{"value": text}] for text in (["x"], "!!", "\u00e4", "/w==")),
    ],
    ids=repr,
)
def test_what_is_no_kubeconfig_is_a_missing_value(configs):
    kind = "containerservice/ManagedCluster"
    arm = azure(kind, "listClusterUserCredential", {"kubeconfigs": configs})
    with pytest.raises(ConditionError, match='"userCredentials"'):
        exported(asking(kind, {"userCredentials": ""}), kind, arm=arm)
