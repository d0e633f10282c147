"""Types whose resources lose something for good when they are deleted. Data.

Such a resource is never deleted in order to be made again. Besides data the list has
types whose name stays taken after a deletion, and types of which a new resource is
another one for all that use it: an identity is another principal, a DNS zone has other
name servers. Rule: OW-6.
"""

_WITH_ALL_BELOW = (
    "microsoft.apimanagement/service",
    "microsoft.appconfiguration/configurationstores",
    "microsoft.batch/batchaccounts",
    "microsoft.cache/redis",
    "microsoft.cache/redisenterprise",
    "microsoft.cognitiveservices/accounts",
    "microsoft.communication/communicationservices",
    "microsoft.communication/emailservices",
    "microsoft.containerregistry/registries",
    "microsoft.datafactory/factories",
    "microsoft.dataprotection/backupvaults",
    "microsoft.dbformariadb/servers",
    "microsoft.dbformysql/flexibleservers",
    "microsoft.dbforpostgresql/flexibleservers",
    "microsoft.devices/iothubs",
    "microsoft.documentdb/cassandraclusters",
    "microsoft.documentdb/databaseaccounts",
    "microsoft.documentdb/mongoclusters",
    "microsoft.eventgrid/domains",
    "microsoft.eventgrid/topics",
    "microsoft.eventhub/namespaces",
    "microsoft.insights/components",
    "microsoft.insights/workbooks",
    "microsoft.keyvault/vaults",
    "microsoft.kusto/clusters",
    "microsoft.machinelearningservices/registries",
    "microsoft.machinelearningservices/workspaces",
    "microsoft.managedidentity/userassignedidentities",
    "microsoft.monitor/accounts",
    "microsoft.network/dnszones",
    "microsoft.notificationhubs/namespaces",
    "microsoft.operationalinsights/workspaces",
    "microsoft.redhatopenshift/openshiftclusters",
    "microsoft.search/searchservices",
    "microsoft.servicebus/namespaces",
    "microsoft.sql/servers",
    "microsoft.storage/storageaccounts",
    "microsoft.subscription/aliases",
    "microsoft.synapse/workspaces",
    "microsoft.web/sites",
)
# Types below them hold nothing, such as the agent pools of a cluster.
_ALONE = frozenset(
    {
        "microsoft.compute/disks",
        "microsoft.compute/images",
        "microsoft.compute/snapshots",
        "microsoft.compute/virtualmachines",
        "microsoft.compute/virtualmachinescalesets",
        "microsoft.containerservice/fleets",
        "microsoft.containerservice/managedclusters",
        "microsoft.redhatopenshift/hcpopenshiftclusters",
        "microsoft.resources/resourcegroups",
    }
)
HOLDS_DATA = frozenset(_WITH_ALL_BELOW) | _ALONE


def holds_data(arm_type: str) -> bool:
    """Return whether a deletion of a resource of this type destroys something."""
    name = f"{arm_type.lower()}/"
    below = any(name.startswith(f"{one}/") for one in _WITH_ALL_BELOW)
    return below or arm_type.lower() in _ALONE
