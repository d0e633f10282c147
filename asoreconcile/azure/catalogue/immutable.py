"""Fields that cannot be changed once a resource was made. Pure.

The published types have no mark for such fields: the table is from Azure's
documentation, or from Terraform's, which says of each argument whether a change needs
another resource. Rows without an address were not found in either. `is_refused_change`
knows the codes with which Azure refuses. The name and the location of a resource never
change, whatever its type. Rule: OW-6.

TF: registry.terraform.io/providers/hashicorp/azurerm/latest/docs/resources/
"""

import re
from collections.abc import Iterable, Mapping

_LOGIN = "properties/administratorlogin"
_GEO_BACKUP = "properties/backup/georedundantbackup"
_SUBNET = "properties/network/delegatedsubnetresourceid"
# TF: public_ip. Not `sku/name`: Basic becomes Standard
# (learn.microsoft.com/azure/virtual-network/ip-services/public-ip-upgrade-cli).
_ADDRESS = ("properties/publicipaddressversion", "sku/tier", "zones")

IMMUTABLE: Mapping[str, tuple[str, ...]] = {
    "microsoft.authorization/roleassignments": (
        "properties/principalid",
        "properties/roledefinitionid",
    ),
    "microsoft.batch/batchaccounts": ("properties/poolallocationmode",),
    # TF: redis_cache. Not `zones`, which change with the zonal allocation policy.
    "microsoft.cache/redis": ("properties/staticip", "properties/subnetid"),
    "microsoft.cognitiveservices/accounts": ("kind",),
    "microsoft.compute/disks": ("properties/creationdata", "zones"),
    "microsoft.compute/snapshots": ("properties/creationdata",),
    # learn.microsoft.com/javascript/api/@azure-rest/arm-compute/osprofile
    "microsoft.compute/virtualmachines": (
        "properties/availabilityset",
        "properties/osprofile/adminusername",
        "properties/osprofile/computername",
        "properties/osprofile/customdata",
        "properties/storageprofile/osdisk/createoption",
        "properties/storageprofile/osdisk/name",
        "zones",
    ),
    "microsoft.compute/virtualmachinescalesets": (
        "properties/orchestrationmode",
        "properties/platformfaultdomaincount",
        "zones",
    ),
    "microsoft.containerregistry/registries": ("properties/zoneredundancy",),
    # TF: kubernetes_cluster. Not `enablePrivateCluster`, which may change:
    # learn.microsoft.com/azure/aks/api-server-vnet-integration
    "microsoft.containerservice/managedclusters": (
        "properties/dnsprefix",
        "properties/fqdnsubdomain",
        "properties/linuxprofile/adminusername",
        "properties/networkprofile/dnsserviceip",
        "properties/networkprofile/servicecidr",
        "properties/noderesourcegroup",
        "properties/windowsprofile/adminusername",
    ),
    # TF: kubernetes_cluster_node_pool, with those that only a rotation changes;
    # learn.microsoft.com/azure/aks/manage-node-pools
    "microsoft.containerservice/managedclusters/agentpools": (
        "properties/availabilityzones",
        "properties/capacityreservationgroupid",
        "properties/gpuinstanceprofile",
        "properties/hostgroupid",
        "properties/maxpods",
        "properties/nodepublicipprefixid",
        "properties/osdisksizegb",
        "properties/osdisktype",
        "properties/ostype",
        "properties/podsubnetid",
        "properties/proximityplacementgroupid",
        "properties/scalesetevictionpolicy",
        "properties/scalesetpriority",
        "properties/vmsize",
        "properties/vnetsubnetid",
    ),
    "microsoft.dbformysql/flexibleservers": (_LOGIN, _SUBNET),
    # TF: postgresql_flexible_server
    "microsoft.dbforpostgresql/flexibleservers": (_LOGIN, _SUBNET, _GEO_BACKUP),
    "microsoft.documentdb/databaseaccounts": ("kind",),
    "microsoft.documentdb/databaseaccounts/mongodbdatabases/collections": (
        "properties/resource/shardkey",
    ),
    # learn.microsoft.com/rest/api/cosmos-db/replace-a-collection
    "microsoft.documentdb/databaseaccounts/sqldatabases/containers": (
        "properties/resource/partitionkey",
        "properties/resource/uniquekeypolicy",
    ),
    # TF: nat_gateway (zones)
    "microsoft.network/natgateways": ("sku/name", "zones"),
    "microsoft.network/loadbalancers": ("sku/name",),
    "microsoft.network/privateendpoints": ("properties/subnet",),
    "microsoft.network/publicipaddresses": (*_ADDRESS, "properties/publicipprefix"),
    "microsoft.network/publicipprefixes": ("properties/prefixlength", *_ADDRESS),
    # TF: virtual_network_gateway
    "microsoft.network/virtualnetworkgateways": (
        "properties/gatewaytype",
        "properties/vpntype",
    ),
    # TF: servicebus_queue, servicebus_topic;
    # learn.microsoft.com/azure/service-bus-messaging/enable-partitions-basic-standard
    "microsoft.servicebus/namespaces/queues": (
        "properties/enablepartitioning",
        "properties/requiresduplicatedetection",
        "properties/requiressession",
    ),
    "microsoft.servicebus/namespaces/topics": (
        "properties/enablepartitioning",
        "properties/requiresduplicatedetection",
    ),
    "microsoft.servicebus/namespaces/topics/subscriptions": (
        "properties/requiressession",
    ),
    "microsoft.sql/servers": (_LOGIN,),
    "microsoft.sql/servers/databases": ("properties/collation",),
    "microsoft.storage/storageaccounts": (
        "properties/encryption/requireinfrastructureencryption",
        "properties/ishnsenabled",
        "properties/isnfsv3enabled",
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
