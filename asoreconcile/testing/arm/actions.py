"""POST actions: the keys and credentials that providers return.

The values are derived from the resource's id and give access to nothing.
"""

import base64
from collections.abc import Callable

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.outputs import made_up
from asoreconcile.testing.arm.refusals import RefusedError
from asoreconcile.testing.arm.resources import ArmResource

_STORAGE = "microsoft.storage/storageaccounts"


def act(address: ArmAddress, action: str) -> JsonObject | None:
    """Return the result of an action on an existing resource, or None if it
    is unknown.
    """
    make = _ACTIONS.get((address.type, action.lower())) or _COMMON.get(action.lower())
    if make is _pair and address.type.endswith("/authorizationrules"):
        make = _rule
    return None if make is None else make(address)


def check_provisioned(resource: ArmResource, *, done: str) -> None:
    """Refuse a Storage account's keys while the account is being created (V7).

    done: the state of the type's resources when no operation is running.

    Raises RefusedError 409.
    """
    address = resource.address
    if address.type == _STORAGE and resource.state != done:
        raise RefusedError(
            409,
            "StorageAccountIsNotProvisioned",
            f"The storage account provisioning state of '{address.name}' must be "
            "'Succeeded' before executing the operation.",
            from_gateway=False,
        )


def _key(address: ArmAddress, what: str) -> str:
    return base64.b64encode(made_up(address, what).encode()).decode()


def _pair(address: ArmAddress) -> JsonObject:
    return _keys(address, f"Endpoint=https://{address.name}.example.azure.com/")


def _rule(address: ArmAddress) -> JsonObject:
    """Return the keys of an authorization rule of a namespace, or of a rule
    below it.
    """
    host = f"sb://{address.names[0]}.servicebus.windows.net/"
    return _keys(address, f"Endpoint={host};SharedAccessKeyName={address.name}")


def _keys(address: ArmAddress, endpoint: str) -> JsonObject:
    keys: JsonObject = {}
    for rank in ("primary", "secondary"):
        key = _key(address, rank)
        keys[f"{rank}Key"] = key
        keys[f"{rank}ConnectionString"] = f"{endpoint};SharedAccessKey={key}"
    return {**keys, "keyName": address.name}


def _learning(address: ArmAddress) -> JsonObject:
    return {
        "userStorageKey": _key(address, "storage"),
        "appInsightsInstrumentationKey": made_up(address, "insights"),
        "containerRegistryCredentials": {
            **_registry(address),
            "location": "westeurope",
        },
        "notebookAccessKeys": {
            "primaryAccessKey": _key(address, "notebook1"),
            "secondaryAccessKey": _key(address, "notebook2"),
        },
    }


def _numbered(address: ArmAddress) -> JsonObject:
    return {"key1": _key(address, "key1"), "key2": _key(address, "key2")}


def _storage(address: ArmAddress) -> JsonObject:
    return {
        "keys": [
            {"keyName": name, "value": _key(address, name), "permissions": "FULL"}
            for name in ("key1", "key2")
        ]
    }


def _batch(address: ArmAddress) -> JsonObject:
    return {
        "accountName": address.name,
        "primary": _key(address, "primary"),
        "secondary": _key(address, "secondary"),
    }


def _cosmos(address: ArmAddress) -> JsonObject:
    return {
        f"{rank}{suffix}": _key(address, rank + suffix)
        for rank in ("primary", "secondary")
        for suffix in ("MasterKey", "ReadonlyMasterKey")
    }


def _configuration(address: ArmAddress) -> JsonObject:
    host = f"https://{address.name}.azconfig.io"
    return {
        "value": [
            {
                "id": made_up(address, name),
                "name": name,
                "value": _key(address, name),
                "connectionString": (
                    f"Endpoint={host};Id={made_up(address, name)[:8]};"
                    f"Secret={_key(address, name)}"
                ),
                "readOnly": "Read Only" in name,
            }
            for name in (
                "Primary",
                "Secondary",
                "Primary Read Only",
                "Secondary Read Only",
            )
        ]
    }


def _hub(address: ArmAddress) -> JsonObject:
    return {
        "value": [
            {
                "keyName": name,
                "primaryKey": _key(address, name + "1"),
                "secondaryKey": _key(address, name + "2"),
                "rights": "RegistryWrite",
            }
            for name in (
                "iothubowner",
                "service",
                "device",
                "registryRead",
                "registryReadWrite",
            )
        ]
    }


def _search(address: ArmAddress) -> JsonObject:
    return {
        "primaryKey": _key(address, "primary"),
        "secondaryKey": _key(address, "secondary"),
    }


def _queries(address: ArmAddress) -> JsonObject:
    return {"value": [{"name": None, "key": _key(address, "query")}]}


def _registry(address: ArmAddress) -> JsonObject:
    return {
        "username": address.name,
        "passwords": [
            {"name": "password", "value": _key(address, "password")},
            {"name": "password2", "value": _key(address, "password2")},
        ],
    }


def _shared(address: ArmAddress) -> JsonObject:
    return {
        "primarySharedKey": _key(address, "primary"),
        "secondarySharedKey": _key(address, "secondary"),
    }


def _cluster(address: ArmAddress) -> JsonObject:
    config = (
        "apiVersion: v1\nkind: Config\nclusters:\n"
        f"- name: {address.name}\n  cluster:\n"
        f"    server: https://{address.name}.hcp.westeurope.azmk8s.io:443\n"
    )
    value = base64.b64encode(config.encode()).decode()
    return {"kubeconfigs": [{"name": "clusterUser", "value": value}]}


def _openshift(address: ArmAddress) -> JsonObject:
    return {
        "kubeconfig": _key(address, "kubeconfig"),
        "kubeadminUsername": "kubeadmin",
        "kubeadminPassword": _key(address, "kubeadmin"),
    }


_Make = Callable[[ArmAddress], JsonObject]
_COMMON: dict[str, _Make] = {
    "listkeys": _pair,
    "listsecrets": _pair,
    "listclusteradmincredential": _cluster,
    "listclusterusercredential": _cluster,
    "listcredentials": _cluster,
}
_ACTIONS: dict[tuple[str, str], _Make] = {
    ("microsoft.storage/storageaccounts", "listkeys"): _storage,
    ("microsoft.batch/batchaccounts", "listkeys"): _batch,
    ("microsoft.documentdb/databaseaccounts", "listkeys"): _cosmos,
    ("microsoft.eventgrid/topics", "listkeys"): _numbered,
    ("microsoft.eventgrid/domains", "listkeys"): _numbered,
    ("microsoft.cognitiveservices/accounts", "listkeys"): _numbered,
    ("microsoft.appconfiguration/configurationstores", "listkeys"): _configuration,
    ("microsoft.devices/iothubs", "listkeys"): _hub,
    ("microsoft.search/searchservices", "listadminkeys"): _search,
    ("microsoft.search/searchservices", "listquerykeys"): _queries,
    ("microsoft.containerregistry/registries", "listcredentials"): _registry,
    ("microsoft.operationalinsights/workspaces", "sharedkeys"): _shared,
    ("microsoft.machinelearningservices/workspaces", "listkeys"): _learning,
    ("microsoft.redhatopenshift/openshiftclusters", "listadmincredentials"): _openshift,
    ("microsoft.redhatopenshift/openshiftclusters", "listcredentials"): _openshift,
}
