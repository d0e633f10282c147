"""Host names and URLs that Azure derives from a resource's name, as data."""

from typing import Any

from asoreconcile.base.objects import JsonObject

# Below `properties`. {name} is the resource's name in lower case; {id} is derived from
# its id.
_TEMPLATES: dict[str, JsonObject] = {
    "microsoft.app/containerapps": {
        "eventStreamEndpoint": (
            "https://westeurope.azurecontainerapps.dev/containerApps/{name}/eventstream"
        ),
        "latestRevisionFqdn": "{name}--0000001.westeurope.azurecontainerapps.io",
        "configuration": {
            "ingress": {"fqdn": "{name}.westeurope.azurecontainerapps.io"}
        },
    },
    "microsoft.appconfiguration/configurationstores": {
        "endpoint": "https://{name}.azconfig.io"
    },
    "microsoft.cognitiveservices/accounts": {
        "endpoint": "https://{name}.cognitiveservices.azure.com/",
        "endpoints": {
            "AI Foundry API": "https://{name}.services.ai.azure.com/",
            "Content Safety": "https://{name}.cognitiveservices.azure.com/",
            "OpenAI Language Model Instance API": "https://{name}.openai.azure.com/",
        },
    },
    "microsoft.communication/communicationservices": {
        "hostName": "{name}.unitedstates.communication.azure.com"
    },
    "microsoft.dbformariadb/servers": {
        "fullyQualifiedDomainName": "{name}.mariadb.database.azure.com",
        "userVisibleState": "Ready",
    },
    "microsoft.documentdb/mongoclusters": {
        "clusterStatus": "Ready",
        "connectionString": (
            "mongodb+srv://<user>:<password>@{name}.mongocluster.cosmos.azure.com/"
            "?tls=true&authMechanism=SCRAM-SHA-256&retrywrites=false"
            "&maxIdleTimeMS=120000"
        ),
    },
    "microsoft.eventgrid/domains": {
        "endpoint": "https://{name}.westeurope-1.eventgrid.azure.net/api/events"
    },
    "microsoft.eventgrid/topics": {
        "endpoint": "https://{name}.westeurope-1.eventgrid.azure.net/api/events"
    },
    "microsoft.insights/components": {
        "AppId": "{id}",
        "InstrumentationKey": "{id}",
        "ConnectionString": (
            "InstrumentationKey={id};"
            "IngestionEndpoint=https://westeurope-5.in.applicationinsights.azure.com/"
        ),
    },
    "microsoft.machinelearningservices/registries": {
        "discoveryUrl": "https://westeurope.api.azureml.ms/registrymanagement/{name}",
        "mlFlowRegistryUri": "azureml://westeurope.api.azureml.ms/mlflow/{name}",
    },
    "microsoft.network/privatelinkservices": {
        "alias": "{name}.{id}.westeurope.azure.privatelinkservice"
    },
    "microsoft.network/trafficmanagerprofiles": {
        "dnsConfig": {"fqdn": "{name}.trafficmanager.net"}
    },
    "microsoft.notificationhubs/namespaces": {
        "serviceBusEndpoint": "https://{name}.servicebus.windows.net:443/"
    },
    "microsoft.signalrservice/signalr": {"hostName": "{name}.service.signalr.net"},
}
# These are added only if the resource has the object that holds them.
_OPTIONAL = frozenset({"ingress"})


def add_hosts(type_: str, body: JsonObject, *, name: str, id_: str) -> None:
    """Fill in a resource's host names and URLs, in place. Existing values stay.

    type_: `namespace/type` in lower case.
    id_: a UUID derived from the resource's id.
    """
    found = _TEMPLATES.get(type_)
    if found is not None:
        values = {"{name}": name.lower(), "{id}": id_}
        _merge(body.setdefault("properties", {}), found, values)


def _merge(target: JsonObject, more: JsonObject, values: dict[str, str]) -> None:
    for name, value in more.items():
        if isinstance(value, dict):
            if name not in target and name in _OPTIONAL:
                continue
            inner = target.setdefault(name, {})
            if isinstance(inner, dict):
                _merge(inner, value, values)
        else:
            target.setdefault(name, _filled(value, values))


def _filled(template: Any, values: dict[str, str]) -> str:
    text = str(template)
    for mark, value in values.items():
        text = text.replace(mark, value)
    return text
