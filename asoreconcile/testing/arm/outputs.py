"""The fields that Azure adds to a resource: addresses, states and identities.

Values are derived from the resource's id, so the same resources always get the same
values. Secrets that were sent are left out of bodies that are read, as in Azure.
"""

import re
import uuid
from collections.abc import Callable
from typing import Any

from asoreconcile.base.objects import JsonObject, copy_json
from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.defaults import add_defaults
from asoreconcile.testing.arm.hosts import add_hosts

_NAMESPACE = uuid.UUID("1f7f6e0a-5c5b-4d1e-9a07-3a9a4f6f2b11")
_SECRET = re.compile(
    r"password$|^(client)?secret(value|s)?$|^customsubjectkeypassword$|^pfxblob$"
    r"|^connectionstring$|^(primary|secondary)key$|^sharedkey$|^servicebuskey$",
    re.IGNORECASE,
)


def made_up(address: ArmAddress, what: str) -> str:
    """Return a UUID that is always the same for one resource and purpose."""
    return str(uuid.uuid5(_NAMESPACE, f"{address.key}#{what}"))


def is_secret(name: str) -> bool:
    """Return whether a field of this name holds a secret that Azure never returns."""
    return _SECRET.search(name) is not None


def without_secrets(value: Any) -> Any:
    """Return a copy without the fields that Azure never returns."""
    if isinstance(value, dict):
        return {
            name: without_secrets(inner)
            for name, inner in value.items()
            if not is_secret(name) or isinstance(inner, (dict, list))
        }
    if isinstance(value, list):
        return [without_secrets(item) for item in value]
    return value


def add_outputs(address: ArmAddress, body: JsonObject, *, tenant_id: str) -> None:
    """Fill in the fields that Azure would, in place. Properties that were sent stay."""
    identity = body.get("identity")
    if isinstance(identity, dict):
        _fill_identity(address, identity, tenant_id)
    make = _TYPES.get(address.type)
    if make is None:
        return
    properties = body.setdefault("properties", {})
    for name, value in make(address, properties, tenant_id).items():
        properties.setdefault(name, value)


def _fill_identity(address: ArmAddress, identity: JsonObject, tenant_id: str) -> None:
    if "SystemAssigned" in str(identity.get("type", "")):
        identity["principalId"] = made_up(address, "principal")
        identity["tenantId"] = tenant_id
    assigned = identity.get("userAssignedIdentities")
    if isinstance(assigned, dict):
        for id_ in assigned:
            owner = ArmAddress(id_, "", "", ("",))
            assigned[id_] = {
                "principalId": made_up(owner, "principal"),
                "clientId": made_up(owner, "client"),
            }


def _identity(address: ArmAddress, _: JsonObject, tenant_id: str) -> JsonObject:
    return {
        "principalId": made_up(address, "principal"),
        "clientId": made_up(address, "client"),
        "tenantId": tenant_id,
    }


def _role_assignment(address: ArmAddress, _: JsonObject, __: str) -> JsonObject:
    return {"scope": address.id.rpartition("/providers/")[0]}


def _redis(address: ArmAddress, _: JsonObject, __: str) -> JsonObject:
    return {
        "hostName": f"{address.name.lower()}.redis.cache.windows.net",
        "port": 6379,
        "sslPort": 6380,
        "accessKeys": None,
        "linkedServers": [],
    }


def _storage(address: ArmAddress, _: JsonObject, __: str) -> JsonObject:
    kinds = {
        "blob": "blob",
        "file": "file",
        "queue": "queue",
        "table": "table",
        "dfs": "dfs",
        "web": "z1.web",
    }
    return {
        "primaryEndpoints": {
            name: f"https://{address.name}.{host}.core.windows.net/"
            for name, host in kinds.items()
        },
        "statusOfPrimary": "available",
    }


def _postgres(address: ArmAddress, _: JsonObject, __: str) -> JsonObject:
    return {
        "fullyQualifiedDomainName": f"{address.name}.postgres.database.azure.com",
        "state": "Ready",
    }


def _mysql(address: ArmAddress, _: JsonObject, __: str) -> JsonObject:
    return {
        "fullyQualifiedDomainName": f"{address.name}.mysql.database.azure.com",
        "state": "Ready",
    }


def _sql(address: ArmAddress, _: JsonObject, __: str) -> JsonObject:
    host = f"{address.name}.database.windows.net"
    return {"fullyQualifiedDomainName": host, "state": "Ready"}


def _cluster(address: ArmAddress, properties: JsonObject, _: str) -> JsonObject:
    prefix = properties.get("dnsPrefix") or address.name
    group = address.group.rsplit("/", 1)[-1]
    location = "westeurope"
    outputs: JsonObject = {
        "fqdn": f"{prefix}-{address.seed:08x}.hcp.{location}.azmk8s.io",
        "powerState": {"code": "Running"},
        "currentKubernetesVersion": properties.get("kubernetesVersion") or "1.33.3",
        "nodeResourceGroup": f"MC_{group}_{address.name}_{location}",
    }
    profile = properties.get("oidcIssuerProfile")
    if isinstance(profile, dict) and profile.get("enabled"):
        issuer = made_up(address, "issuer")
        profile["issuerURL"] = f"https://{location}.oic.prod-aks.azure.com/{issuer}/"
    return outputs


def _agent_pool(_: ArmAddress, __: JsonObject, ___: str) -> JsonObject:
    return {"powerState": {"code": "Running"}, "currentOrchestratorVersion": "1.33.3"}


def _endpoint(address: ArmAddress, properties: JsonObject, _: str) -> JsonObject:
    for connection in properties.get("privateLinkServiceConnections") or ():
        inner = connection.setdefault("properties", {})
        inner["privateLinkServiceConnectionState"] = {
            "status": "Approved",
            "description": "Auto-approved",
            "actionsRequired": "None",
        }
    scope = address.id.rsplit("/", 2)[0]
    interface = (
        f"{scope}/networkInterfaces/{address.name}.nic.{made_up(address, 'nic')}"
    )
    return {"networkInterfaces": [{"id": interface}], "customDnsConfigs": []}


def _kusto(address: ArmAddress, _: JsonObject, __: str) -> JsonObject:
    host = f"{address.name}.westeurope.kusto.windows.net"
    return {
        "state": "Running",
        "uri": f"https://{host}",
        "dataIngestionUri": f"https://ingest-{host}",
    }


def _messaging(address: ArmAddress, _: JsonObject, __: str) -> JsonObject:
    host = f"https://{address.name}.servicebus.windows.net:443/"
    return {"serviceBusEndpoint": host, "status": "Active"}


def _address(address: ArmAddress, properties: JsonObject, _: str) -> JsonObject:
    if properties.get("publicIPAllocationMethod") != "Static":
        return {}
    number = address.seed
    return {"ipAddress": f"20.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"}


def _vault(address: ArmAddress, _: JsonObject, __: str) -> JsonObject:
    return {"vaultUri": f"https://{address.name}.vault.azure.net/"}


def _cosmos(address: ArmAddress, _: JsonObject, __: str) -> JsonObject:
    return {"documentEndpoint": f"https://{address.name}.documents.azure.com:443/"}


def _registry(address: ArmAddress, _: JsonObject, __: str) -> JsonObject:
    return {"loginServer": f"{address.name.lower()}.azurecr.io"}


def _guid(address: ArmAddress, _: JsonObject, __: str) -> JsonObject:
    return {"resourceGuid": str(uuid.uuid5(_NAMESPACE, f"{address.life}#guid"))}


_Make = Callable[[ArmAddress, JsonObject, str], JsonObject]
_TYPES: dict[str, _Make] = {
    "microsoft.authorization/roleassignments": _role_assignment,
    "microsoft.managedidentity/userassignedidentities": _identity,
    "microsoft.cache/redis": _redis,
    "microsoft.storage/storageaccounts": _storage,
    "microsoft.dbforpostgresql/flexibleservers": _postgres,
    "microsoft.dbformysql/flexibleservers": _mysql,
    "microsoft.sql/servers": _sql,
    "microsoft.containerservice/managedclusters": _cluster,
    "microsoft.containerservice/managedclusters/agentpools": _agent_pool,
    "microsoft.network/privateendpoints": _endpoint,
    "microsoft.kusto/clusters": _kusto,
    "microsoft.eventhub/namespaces": _messaging,
    "microsoft.servicebus/namespaces": _messaging,
    "microsoft.network/publicipaddresses": _address,
    "microsoft.keyvault/vaults": _vault,
    "microsoft.documentdb/databaseaccounts": _cosmos,
    "microsoft.containerregistry/registries": _registry,
    "microsoft.network/virtualnetworks": _guid,
    "microsoft.network/networksecuritygroups": _guid,
}


def shown(address: ArmAddress, sent: JsonObject, *, tenant_id: str) -> JsonObject:
    """Return the body that Azure stores for a body that was sent."""
    stated = {name: value for name, value in sent.items() if value is not None}
    body: JsonObject = without_secrets(copy_json(stated))
    body["id"], body["name"] = address.id, address.name
    body["type"] = address.type_name
    add_outputs(address, body, tenant_id=tenant_id)
    add_hosts(address.type, body, name=address.name, id_=made_up(address, "host"))
    add_defaults(address.type, body)
    return body
