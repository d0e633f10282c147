"""Members that Azure accepts in a PUT and returns, but that no kind has a field for.

They may be changed in Azure, so a comparison for undeclared changes includes them. The
list was made from Azure's own types; paths are in lower case.
"""

from collections.abc import Mapping

_STATUS = ("properties/status",)

UNSPECIFIED: Mapping[str, tuple[str, ...]] = {
    "microsoft.app/managedenvironments": (
        "properties/daprconfiguration",
        "properties/kedaconfiguration",
    ),
    "microsoft.cognitiveservices/accounts/deployments": ("properties/currentcapacity",),
    "microsoft.documentdb/cassandraclusters": ("properties/deallocated",),
    "microsoft.documentdb/cassandraclusters/datacenters": ("properties/deallocated",),
    "microsoft.documentdb/databaseaccounts": ("properties/customermanagedkeystatus",),
    "microsoft.documentdb/mongoclusters": ("properties/backup",),
    "microsoft.eventhub/namespaces/eventhubs": _STATUS,
    "microsoft.insights/datacollectionendpoints": (
        "properties/configurationaccess",
        "properties/immutableid",
        "properties/logsingestion",
        "properties/metricsingestion",
    ),
    "microsoft.insights/webtests": ("kind",),
    "microsoft.network/privateendpoints": ("properties/customdnsconfigs",),
    "microsoft.notificationhubs/namespaces": _STATUS,
    "microsoft.operationalinsights/workspaces": (
        "properties/failover",
        "properties/features/legacy",
        "properties/features/searchversion",
    ),
    "microsoft.redhatopenshift/openshiftclusters": ("properties/consoleprofile",),
    "microsoft.search/searchservices": ("properties/authoptions/apikeyonly",),
    "microsoft.servicebus/namespaces/queues": _STATUS,
    "microsoft.servicebus/namespaces/topics": _STATUS,
    "microsoft.servicebus/namespaces/topics/subscriptions": _STATUS,
}
"""By ARM type, in lower case."""
