"""Fields that cannot be changed once a resource was made. Pure.

The published types have no mark for such fields. The comment of each row names its
source; a field without one is not in the table. `is_refused_change` knows the codes
with which Azure refuses. The name and the location of a resource never change, whatever
its type. Rule: OW-6.

types: the description of the field in the published types (Azure/bicep-types-az).
TF: registry.terraform.io/providers/hashicorp/azurerm/latest/docs/resources/, which says
of each argument whether a change needs another resource.
"""

import re
from collections.abc import Iterable, Mapping

_LOGIN = "properties/administratorlogin"
_GEO_BACKUP = "properties/backup/georedundantbackup"
_SUBNET = "properties/network/delegatedsubnetresourceid"
_NETWORK = "properties/virtualnetwork"
# TF: public_ip. Not `sku/name`: Basic becomes Standard
# (learn.microsoft.com/azure/virtual-network/ip-services/public-ip-upgrade-cli).
_ADDRESS = ("properties/publicipaddressversion", "sku/tier", "zones")
# TF: kubernetes_cluster_node_pool, with those that only a rotation changes;
# learn.microsoft.com/azure/aks/manage-node-pools
_POOL = (
    "availabilityzones",
    "capacityreservationgroupid",
    "gpuinstanceprofile",
    "hostgroupid",
    "maxpods",
    "nodepublicipprefixid",
    "osdisksizegb",
    "osdisktype",
    "ostype",
    "podsubnetid",
    "proximityplacementgroupid",
    "scalesetevictionpolicy",
    "scalesetpriority",
    "vmsize",
    "vnetsubnetid",
)

IMMUTABLE: Mapping[str, tuple[str, ...]] = {
    # TF: role_assignment
    "microsoft.authorization/roleassignments": (
        "properties/principalid",
        "properties/roledefinitionid",
    ),
    # TF: redis_cache. Not `zones`, which change with the zonal allocation policy.
    "microsoft.cache/redis": ("properties/staticip", "properties/subnetid"),
    # types
    "microsoft.cache/redisenterprise/databases": ("properties/modules",),
    # types
    "microsoft.compute/diskaccesses": ("extendedlocation",),
    # types; TF: managed_disk (zones)
    "microsoft.compute/disks": (
        "extendedlocation",
        "properties/creationdata",
        "zones",
    ),
    # types
    "microsoft.compute/snapshots": ("extendedlocation", "properties/creationdata"),
    # types (user, names, custom data); TF: linux_virtual_machine
    "microsoft.compute/virtualmachines": (
        "properties/availabilityset",
        "properties/osprofile/adminusername",
        "properties/osprofile/computername",
        "properties/osprofile/customdata",
        "properties/storageprofile/osdisk/name",
        "zones",
    ),
    # learn.microsoft.com/azure/virtual-machine-scale-sets/
    # virtual-machine-scale-sets-orchestration-modes; TF:
    # orchestrated_virtual_machine_scale_set. Not `zones`, as zones can be added.
    "microsoft.compute/virtualmachinescalesets": (
        "properties/orchestrationmode",
        "properties/platformfaultdomaincount",
    ),
    # types (prefix, subdomain); TF: kubernetes_cluster. Not `enablePrivateCluster`,
    # which may change: learn.microsoft.com/azure/aks/api-server-vnet-integration
    "microsoft.containerservice/managedclusters": (
        *(f"properties/agentpoolprofiles/{name}" for name in _POOL),
        "properties/dnsprefix",
        "properties/fqdnsubdomain",
        "properties/linuxprofile/adminusername",
        "properties/networkprofile/dnsserviceip",
        "properties/networkprofile/servicecidr",
        "properties/noderesourcegroup",
        "properties/windowsprofile/adminusername",
    ),
    # TF: kubernetes_cluster_node_pool
    "microsoft.containerservice/managedclusters/agentpools": tuple(
        f"properties/{name}" for name in _POOL
    ),
    # TF: mysql_flexible_server
    "microsoft.dbformysql/flexibleservers": (_LOGIN, _SUBNET, _GEO_BACKUP),
    # types (login); TF: postgresql_flexible_server
    "microsoft.dbforpostgresql/flexibleservers": (_LOGIN, _SUBNET, _GEO_BACKUP),
    # TF: cosmosdb_account
    "microsoft.documentdb/databaseaccounts": ("kind",),
    # TF: cosmosdb_mongo_collection
    "microsoft.documentdb/databaseaccounts/mongodbdatabases/collections": (
        "properties/resource/shardkey",
    ),
    # learn.microsoft.com/rest/api/cosmos-db/replace-a-collection
    "microsoft.documentdb/databaseaccounts/sqldatabases/containers": (
        "properties/resource/partitionkey",
        "properties/resource/uniquekeypolicy",
    ),
    # types
    "microsoft.machinelearningservices/workspaces": (
        "properties/keyvault",
        "properties/storageaccount",
    ),
    # types
    "microsoft.network/dnsforwardingrulesets/virtualnetworklinks": (_NETWORK,),
    # types
    "microsoft.network/dnsresolvers": (_NETWORK,),
    # TF: lb
    "microsoft.network/loadbalancers": ("sku/name", "sku/tier"),
    # TF: nat_gateway
    "microsoft.network/natgateways": ("zones",),
    # TF: private_endpoint
    "microsoft.network/privateendpoints": ("properties/subnet",),
    # TF: public_ip
    "microsoft.network/publicipaddresses": (*_ADDRESS, "properties/publicipprefix"),
    # TF: public_ip_prefix
    "microsoft.network/publicipprefixes": ("properties/prefixlength", *_ADDRESS),
    # TF: virtual_network_gateway
    "microsoft.network/virtualnetworkgateways": (
        "properties/gatewaytype",
        "properties/vpntype",
    ),
    # TF: servicebus_queue;
    # learn.microsoft.com/azure/service-bus-messaging/enable-partitions-basic-standard
    "microsoft.servicebus/namespaces/queues": (
        "properties/enablepartitioning",
        "properties/requiresduplicatedetection",
        "properties/requiressession",
    ),
    # TF: servicebus_topic; the same page
    "microsoft.servicebus/namespaces/topics": (
        "properties/enablepartitioning",
        "properties/requiresduplicatedetection",
    ),
    # TF: servicebus_subscription
    "microsoft.servicebus/namespaces/topics/subscriptions": (
        "properties/requiressession",
    ),
    # types
    "microsoft.sql/servers": (_LOGIN,),
    # types (ledger); TF: mssql_database
    "microsoft.sql/servers/databases": (
        "properties/collation",
        "properties/isledgeron",
    ),
    # learn.microsoft.com/azure/storage/common/infrastructure-encryption-enable;
    # learn.microsoft.com/azure/storage/blobs/
    # network-file-system-protocol-known-issues; types (immutable storage);
    # TF: storage_account (is_hns_enabled)
    "microsoft.storage/storageaccounts": (
        "properties/encryption/requireinfrastructureencryption",
        "properties/immutablestoragewithversioning",
        "properties/ishnsenabled",
        "properties/isnfsv3enabled",
    ),
    # types
    "microsoft.storage/storageaccounts/fileservices/shares": (
        "properties/enabledprotocols",
    ),
}
"""By type, in lower case: paths in the body of a PUT."""

_REFUSED = re.compile(
    r"Immutable|ChangeNotAllowed|ChangeNotSupported|ChangeIsNotAllowed"
    r"|ChangingProperty|NotAllowedToChange|CannotBeChanged|CannotBeUpdated"
    r"|CannotChange|CannotUpdate|UpdateNotPermitted|UpdateNotAllowed"
    r"|InvalidResourceLocation|InvalidResourceGroupLocation",
    re.IGNORECASE,
)
_ANOTHER_CAUSE = re.compile(
    r"Quota|Capacity|Allocation|SkuNotAvailable|OfferRestricted|Locked|Policy"
    r"|Authorization|InProgress|Busy|Throttl|TooManyRequests|Retryable",
    re.IGNORECASE,
)
_ELEMENT = re.compile(r"\[[^\]]*\]")


def is_refused_change(codes: Iterable[str]) -> bool:
    """Return whether a code of Azure's refusal says that a field cannot be changed."""
    return any(_REFUSED.search(code) for code in codes)


def has_another_cause(codes: Iterable[str]) -> bool:
    """Return whether a code of Azure's refusal names a cause outside the resource, such
    as a quota: the same resource could not be made again.
    """
    return any(_ANOTHER_CAUSE.search(code) for code in codes)


def immutable_among(arm_type: str, paths: Iterable[str]) -> list[str]:
    """Return the paths of a body at which a type's resources cannot be changed."""
    known = ("location", "name", *IMMUTABLE.get(arm_type.lower(), ()))
    return [path for path in paths if _is_within(path, known)]


def in_words_of_spec(path: str) -> str:
    """Return the path in a body as its author writes it: `spec.sku.name`."""
    inner = path.removeprefix("properties/").removesuffix("/id")
    return f"spec.{inner.replace('/', '.')}"


def _is_within(path: str, known: Iterable[str]) -> bool:
    plain = f"{_ELEMENT.sub('', path).casefold()}/"
    return any(plain.startswith(f"{one}/") for one in known)
