"""An estate that Azure Service Operator made, taken over and given back.

The CRDs are ASO's: every version, each with its stored form. Its objects are there
before our operator starts, in the form that ASO stores: of several versions, with bags,
references, Secrets, and tokens of operations that are under way.
"""

import base64

import pytest
from asocrds import aso_crd
from asotraces import LONG_AGO, ask, claim, condition
from operation import NAMESPACE, Operation, free_port

from asoreconcile.azure.catalogue.conversion import CONVERSION_DATA, stored_name
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.webhooks import WebhookOptions
from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
    LAST_RECONCILED_VERSION,
    OWN_PREFIX,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
)
from asoreconcile.base.objects import (
    GroupKind,
    ObjectKey,
    annotations,
    dig,
    finalizers,
    labels,
    owner_references,
    uid_of,
)
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    SECRETS,
    ApiResource,
)
from asoreconcile.testing.throwaway_certificates import certificate_authority

KINDS = {
    name.rpartition("/")[2]: builtin().kind(GroupKind(*name.split("/")))
    for name in (
        "resources.azure.com/ResourceGroup",
        "network.azure.com/VirtualNetwork",
        "storage.azure.com/StorageAccount",
        "documentdb.azure.com/DatabaseAccount",
        "cache.azure.com/Redis",
    )
}
ASO_PREFIXES = ("serviceoperator.azure.com/", "azure.com/")
SUBNET = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Synapse/workspaces/w"


def at(kind, version=None):
    of = KINDS[kind]
    return ApiResource(of.group, version or stored_name(of), of.plural, kind)


def spec(version, **fields):
    return {
        "originalVersion": version,
        "location": "westeurope",
        **({} if "owner" in fields else {"owner": {"name": "rg"}}),
        **fields,
    }


NETWORK = {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}
# What ASO stored of each: (kind, name, spec, more of the status)
AT_REST = [
    # A string that the hub has no field for is bare.
    (
        "StorageAccount",
        "account",
        spec(
            "v1api20230101",
            azureName="account",
            kind="StorageV2",
            sku={"name": "Standard_LRS", "$propertyBag": {"Tier": "Standard"}},
            operatorSpec={"secrets": {"key1": {"name": "keys", "key": "one"}}},
        ),
        {"sku": {"name": "Standard_LRS", "tier": "Standard"}},
    ),
    # Ids that are references in the hub, which keeps the old name too.
    (
        "DatabaseAccount",
        "documents",
        spec(
            "v1api20210515",
            azureName="documents",
            databaseAccountOfferType="Standard",
            kind="GlobalDocumentDB",
            locations=[{"locationName": "westeurope"}],
            networkAclBypassResourceReferences=[{"armId": SUBNET}],
            **{"$propertyBag": {"NetworkAclBypassResourceIds": f'["{SUBNET}"]'}},
        ),
        {},
    ),
    # Texts that are JSON in the hub.
    (
        "Redis",
        "cache",
        spec(
            "v1api20201201",
            azureName="cache",
            sku={"family": "C", "name": "Basic", "capacity": 0},
            redisConfiguration={"additionalProperties": {"maxclients": 1000}},
        ),
        {},
    ),
    # A version of which the hub knows everything.
    (
        "VirtualNetwork",
        "at-rest",
        spec("v1api20240301", azureName="at-rest", **NETWORK),
        {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}},
    ),
]
BODIES = {
    "StorageAccount": {
        "kind": "StorageV2",
        "sku": {"name": "Standard_LRS", "tier": "Standard"},
    },
    "DatabaseAccount": {
        "kind": "GlobalDocumentDB",
        "properties": {
            "databaseAccountOfferType": "Standard",
            "locations": [{"locationName": "westeurope"}],
            "networkAclBypassResourceIds": [SUBNET],
        },
    },
    "Redis": {
        "properties": {
            "sku": {"family": "C", "name": "Basic", "capacity": 0},
            "redisConfiguration": {"additionalProperties": {"maxclients": "1000"}},
        }
    },
    "VirtualNetwork": {"properties": NETWORK},
}


class AsoEstate:
    """The cluster and its Azure, as ASO leaves them."""

    def __init__(self, operation):
        self.operation = operation
        self.client, self.azure = operation.client, operation.azure
        self.group = f"/subscriptions/{self.azure.subscription_id}/resourceGroups/rg"
        self.owner = None
        self.before = {}

    def arm_id(self, kind, name):
        type_ = KINDS[kind].version().arm_type
        return f"{self.group}/providers/{type_}/{name}" if "/" in type_ else self.group

    def put(self, kind, name):
        """Make the resource in Azure; the token of the operation, if it is one."""
        body = {"location": "westeurope", **BODIES.get(kind, {})}
        version = KINDS[kind].version().api_version
        return ask(
            self.azure, self.arm_id(kind, name), "PUT", api_version=version, **body
        )

    def delete(self, kind, name):
        version = KINDS[kind].version().api_version
        return ask(self.azure, self.arm_id(kind, name), "DELETE", api_version=version)

    def store(self, kind, name, content, *, ready, more=None, notes=None):
        """Write an object in its stored form, with its status."""
        of, resource = KINDS[kind], at(kind)
        arm_id = self.group if kind == "ResourceGroup" else self.arm_id(kind, name)
        meta = claim(arm_id, NAMESPACE, self.owner)
        meta["annotations"] |= notes or {}
        self.client.create(
            resource,
            {
                "apiVersion": f"{of.group}/{stored_name(of)}",
                "kind": kind,
                "metadata": {"name": name, "namespace": "default", **meta},
                "spec": content,
            },
        )
        status = {**(more or {}), "conditions": [{"type": "Ready", **ready}]}
        if ready["status"] == "True":
            status["id"] = arm_id
        kept = self.client.patch(
            resource,
            ObjectKey("default", name),
            {"status": status},
            subresource="status",
        )
        self.before[kind, name] = kept
        return kept

    def read(self, kind, name, version=None):
        return self.client.get(at(kind, version), ObjectKey("default", name))


def served(operation, folder):
    """Options of webhooks, and the manager's arguments for them."""
    authority = certificate_authority()
    certificate, key = authority.issue(["127.0.0.1"])
    folder.mkdir()
    for name, pem in (
        ("tls.crt", certificate),
        ("tls.key", key),
        ("ca.crt", authority.pem),
    ):
        (folder / name).write_bytes(pem)
    port = free_port()
    url = f"https://127.0.0.1:{port}"
    options = WebhookOptions(address=f":{port}", cert_dir=folder, url=url)
    return options, (f"--webhook-port={port}", f"--webhook-cert-dir={folder}")


@pytest.fixture(scope="module")
def estate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("estate")
    with Operation(folder, lro=1.0) as operation:
        options, arguments = served(operation, folder / "certificates")
        for kind in KINDS.values():
            operation.client.create(
                CUSTOM_RESOURCE_DEFINITIONS, aso_crd(kind, client=options.client())
            )
        made = AsoEstate(operation)
        fill(made)
        made.puts = len(operation.requests("PUT"))  # type: ignore[attr-defined]
        made.deletes = len(operation.requests("DELETE"))  # type: ignore[attr-defined]
        # By default each start PUTs all there is once, as ASO's does.
        operation.start_manager(*arguments, ASORECONCILE_SYNC_MODE="compare")
        # Whatever test comes first: it reads at versions that the operator converts.
        taken_over(made, "VirtualNetwork", "at-rest", "v1api20240301")
        yield made


def fill(estate):
    types = [KINDS[kind].version().arm_type for kind, *_ in AT_REST]
    for type_ in types:
        estate.azure.styles.change(type_, create="201", update="200", delete="200")
    ask(
        estate.azure,
        estate.group,
        "PUT",
        api_version="2020-06-01",
        location="westeurope",
    )
    succeeded = condition("True", "Succeeded")
    content = {"originalVersion": "v1api20200601", "location": "westeurope"}
    estate.owner = estate.store(
        "ResourceGroup", "rg", {**content, "azureName": "rg"}, ready=succeeded
    )
    for kind, name, content, more in AT_REST:
        assert estate.put(kind, name) is None
        estate.store(kind, name, content, ready=succeeded, more=more)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "keys",
            "namespace": "default",
            "ownerReferences": [
                {
                    "apiVersion": f"storage.azure.com/{stored_name(KINDS['StorageAccount'])}",
                    "kind": "StorageAccount",
                    "name": "account",
                    "uid": uid_of(estate.before["StorageAccount", "account"]),
                }
            ],
        },
        "data": {"one": base64.b64encode(b"as it was").decode()},
    }
    estate.client.create(SECRETS, secret)
    networks = KINDS["VirtualNetwork"].version().arm_type
    content = spec("v1api20240301", **NETWORK)
    assert estate.put("VirtualNetwork", "leaving") is None
    estate.store(
        "VirtualNetwork",
        "leaving",
        {**content, "azureName": "leaving"},
        ready=succeeded,
    )
    estate.client.delete(at("VirtualNetwork"), ObjectKey("default", "leaving"))
    estate.azure.styles.change(
        networks, create="202 A+L 1 Creating", delete="202 A+L 1"
    )
    token = estate.delete("VirtualNetwork", "leaving")
    notes = {POLLER_TOKEN: token, POLLER_ID: DELETE_POLLER}
    estate.client.patch(
        at("VirtualNetwork"),
        ObjectKey("default", "leaving"),
        {"metadata": {"annotations": notes}},
    )
    token = estate.put("VirtualNetwork", "coming")
    notes = {POLLER_TOKEN: token, POLLER_ID: PUT_POLLER}
    estate.store(
        "VirtualNetwork",
        "coming",
        {**content, "azureName": "coming"},
        ready=condition("False", "Reconciling", "Info"),
        notes=notes,
    )


def watched(kind, name, version):
    """An object as `Operation` looks for it."""
    return {
        "apiVersion": f"{KINDS[kind].group}/{version}",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
    }


def taken_over(estate, kind, name, version):
    """Block until our operator has read an object's resource, and says what it saw."""
    estate.operation.wait_for(
        watched(kind, name, version),
        lambda found: dig(found, "status.name") == name,
        at(kind),  # nobody may be there yet to convert it
    )
    return estate.read(kind, name)


# What requests of the authors' versions say, and other versions would not.
SENT = {
    "StorageAccount": ("sku.tier", "Standard"),
    "DatabaseAccount": ("properties.networkAclBypassResourceIds", [SUBNET]),
    "Redis": ("properties.redisConfiguration.additionalProperties.maxclients", "1000"),
    "VirtualNetwork": ("properties.addressSpace.addressPrefixes", ["10.0.0.0/16"]),
}


@pytest.mark.parametrize("place", range(len(AT_REST)), ids=[r[0] for r in AT_REST])
def test_what_is_at_rest_stays_so_and_goes_back_as_aso_reads_it(estate, place):
    kind, name, content, _ = AT_REST[place]
    before = estate.before[kind, name]

    after = taken_over(estate, kind, name, content["originalVersion"])

    assert after["spec"] == before["spec"]
    kept = {n: v for n, v in before["status"].items() if n != "id"}  # Azure's spelling
    # ASO keeps conditions of others, such as the copy of the claim's record.
    conditions = [
        one for one in after["status"]["conditions"] if one["type"] != "Claim"
    ]
    shown = {**after["status"], "conditions": conditions}
    assert shown == {**shown, **kept}
    assert after["status"]["id"].lower() == before["status"]["id"].lower()
    assert conditions[0]["lastTransitionTime"] == LONG_AGO
    assert finalizers(after) == finalizers(before)
    assert owner_references(after) == owner_references(before)
    assert {
        key: value
        for key, value in annotations(after).items()
        if not key.startswith(OWN_PREFIX)
    } == dict(annotations(before))
    changed = dict(labels(after).items() - labels(before).items())
    assert changed.keys() <= {LAST_RECONCILED_VERSION}
    type_ = KINDS[kind].version().arm_type
    puts = estate.operation.requests("PUT", f"{type_}/{name}")
    assert len(puts) == 1, estate.operation.logs()[-3000:]  # ASO's own
    keys = estate.client.get(SECRETS, ObjectKey("default", "keys"))
    assert keys["data"]["one"]
    check_goes_back(estate, kind, name)


def check_goes_back(estate, kind, name):
    """The request is that of the author's version; the stored object equals ASO's."""
    before = estate.before[kind, name]["spec"]
    version = before["originalVersion"]
    shown = estate.read(kind, name, version)
    assert CONVERSION_DATA not in annotations(shown)
    estate.client.patch(
        at(kind, version),
        ObjectKey("default", name),
        {"spec": {"tags": {"edited": "here"}}},
    )
    estate.operation.wait_ready(watched(kind, name, version))

    type_ = KINDS[kind].version().arm_type
    put = estate.operation.requests("PUT", f"{type_}/{name}")[-1]
    assert put.api_version == KINDS[kind].version(version).api_version
    assert put.body["tags"] == {"edited": "here"}
    path, value = SENT[kind]
    assert dig(put.body, path) == value
    stored = estate.read(kind, name)
    assert stored["spec"] == {**before, "tags": {"edited": "here"}}
    assert all(
        key.startswith((*ASO_PREFIXES, OWN_PREFIX)) for key in annotations(stored)
    )
    assert CONVERSION_DATA not in annotations(stored)


def test_a_put_under_way_is_ended_without_another(estate):
    coming = watched("VirtualNetwork", "coming", "v1api20240301")

    estate.operation.wait_ready(coming)

    stored = estate.read("VirtualNetwork", "coming")
    assert POLLER_TOKEN not in annotations(stored)
    assert stored["spec"] == estate.before["VirtualNetwork", "coming"]["spec"]
    assert len(estate.operation.requests("PUT", "virtualNetworks/coming")) == 1


def test_a_delete_under_way_is_ended_without_another(estate):
    leaving = watched("VirtualNetwork", "leaving", "v1api20240301")

    estate.operation.wait_gone(leaving)

    assert len(estate.operation.requests("DELETE", "virtualNetworks/leaving")) == 1
    with pytest.raises(NotFoundError):
        estate.read("VirtualNetwork", "leaving")


def test_nothing_was_written_to_azure_but_what_was_edited(estate):
    for kind, name, content, _ in AT_REST:
        taken_over(estate, kind, name, content["originalVersion"])
    made_anew = [
        put.path
        for put in estate.operation.requests("PUT")[estate.puts :]
        if (put.body or {}).get("tags") != {"edited": "here"}
    ]
    assert made_anew == []
    assert len(estate.operation.requests("DELETE")) == estate.deletes
