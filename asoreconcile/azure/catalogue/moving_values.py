"""Values that Azure moves by itself because the spec asks for it. Data.

The author of a spec switches on an autoscaler, the growth of a disk or automatic
upgrades; from then on Azure changes a value that the spec also declares. The comment of
each row names its source; a value without one is not in the table. Rule: OW-8.

types: the descriptions of switch and bounds in the published types
(Azure/bicep-types-az).
"""

from collections.abc import Mapping
from typing import Final

import attrs

# The bound is the value that the spec itself declares.
OWN: Final = "\0own"


@attrs.frozen
class MovingValue:
    """A value of a type's bodies that Azure moves.

    moved: its path, as `properties/count`. switch: the path of the value that lets
    Azure move it; "" if something outside of the body does. on: the values that switch
    on; empty means that any value does. low, high: the path of a bound, a number, or
    OWN; None if there is no bound. inside: the path of a list; moved and bounds are in
    its elements, and so is the switch unless it begins with "/".
    """

    moved: str
    switch: str = ""
    on: tuple[object, ...] = ()
    low: str | float | None = None
    high: str | float | None = None
    inside: str = ""


# types; learn.microsoft.com/azure/aks/cluster-autoscaler
def _pool(inside: str) -> MovingValue:
    return MovingValue(
        "count" if inside else "properties/count",
        "enableAutoScaling" if inside else "properties/enableAutoScaling",
        (True,),
        "minCount" if inside else "properties/minCount",
        "maxCount" if inside else "properties/maxCount",
        inside,
    )


_UPGRADES = ("patch", "rapid", "stable")
_POOLS = "properties/agentPoolProfiles"
_GROWTH = "properties/storage/autoGrow"
_AUTOSCALE = "properties/resource/autoscaleSettings"
# types: `throughput` and `autoscaleSettings` exclude each other
_THROUGHPUT = (
    MovingValue(
        "properties/resource/throughput",
        f"{_AUTOSCALE}/maxThroughput",
        high=f"{_AUTOSCALE}/maxThroughput",
    ),
    MovingValue(
        f"{_AUTOSCALE}/maxThroughput",
        f"{_AUTOSCALE}/autoUpgradePolicy/throughputPolicy/isEnabled",
        (True,),
        low=OWN,
    ),
)
# After a fail-over the zones of the two servers are exchanged (registry.terraform.io/
# providers/hashicorp/azurerm/latest/docs/resources/postgresql_flexible_server).
_ZONES = tuple(
    MovingValue(
        f"properties/{path}",
        "properties/highAvailability/mode",
        ("SameZone", "ZoneRedundant"),
    )
    for path in ("availabilityZone", "highAvailability/standbyAvailabilityZone")
)
_COSMOS = "microsoft.documentdb/databaseaccounts"
_IN_A_POOL = "properties/elasticPoolId"

MOVING_VALUES: Mapping[str, tuple[MovingValue, ...]] = {
    # learn.microsoft.com/azure/container-apps/revisions: in single revision mode the
    # newest revision gets all traffic.
    "microsoft.app/containerapps": (
        MovingValue(
            "properties/configuration/ingress/traffic",
            "properties/configuration/activeRevisionsMode",
            ("Single",),
        ),
    ),
    # types: the channel brings updates; Azure selects the zones
    "microsoft.cache/redis": (
        MovingValue("properties/redisVersion", "properties/updateChannel", low=OWN),
        MovingValue("zones", "properties/zonalAllocationPolicy", ("Automatic",)),
    ),
    # types; learn.microsoft.com/azure/aks/auto-upgrade-cluster
    "microsoft.containerservice/managedclusters": (
        _pool(_POOLS),
        MovingValue(
            "properties/kubernetesVersion",
            "properties/autoUpgradeProfile/upgradeChannel",
            _UPGRADES,
            low=OWN,
        ),
        MovingValue(
            "orchestratorVersion",
            "/properties/autoUpgradeProfile/upgradeChannel",
            _UPGRADES,
            low=OWN,
            inside=_POOLS,
        ),
    ),
    # types
    "microsoft.containerservice/managedclusters/agentpools": (_pool(""),),
    # learn.microsoft.com/previous-versions/azure/mariadb/
    # howto-auto-grow-storage-powershell
    "microsoft.dbformariadb/servers": (
        MovingValue(
            "properties/storageProfile/storageMB",
            "properties/storageProfile/storageAutogrow",
            ("Enabled",),
            low=OWN,
        ),
    ),
    # types; the zones as above
    "microsoft.dbformysql/flexibleservers": (
        *_ZONES,
        MovingValue("properties/storage/storageSizeGB", _GROWTH, ("Enabled",), low=OWN),
        MovingValue(
            "properties/storage/iops",
            "properties/storage/autoIoScaling",
            ("Enabled",),
        ),
    ),
    # types; the zones as above
    "microsoft.dbforpostgresql/flexibleservers": (
        *_ZONES,
        MovingValue("properties/storage/storageSizeGB", _GROWTH, ("Enabled",), low=OWN),
        # The disk doubles, and its tier and IOPS follow from its size:
        # learn.microsoft.com/azure/postgresql/scale/how-to-auto-grow-storage
        MovingValue("properties/storage/tier", _GROWTH, ("Enabled",)),
        MovingValue("properties/storage/iops", _GROWTH, ("Enabled",), low=OWN),
    ),
    # types
    f"{_COSMOS}/mongodbdatabases/collections/throughputsettings": _THROUGHPUT,
    f"{_COSMOS}/mongodbdatabases/throughputsettings": _THROUGHPUT,
    f"{_COSMOS}/sqldatabases/containers/throughputsettings": _THROUGHPUT,
    f"{_COSMOS}/sqldatabases/throughputsettings": _THROUGHPUT,
    # learn.microsoft.com/azure/event-hubs/event-hubs-scalability: it only scales up.
    "microsoft.eventhub/namespaces": (
        MovingValue(
            "sku/capacity",
            "properties/isAutoInflateEnabled",
            (True,),
            low=OWN,
            high="properties/maximumThroughputUnits",
        ),
    ),
    # types
    "microsoft.kusto/clusters": (
        MovingValue(
            "sku/capacity",
            "properties/optimizedAutoscale/isEnabled",
            (True,),
            low="properties/optimizedAutoscale/minimum",
            high="properties/optimizedAutoscale/maximum",
        ),
    ),
    # types
    "microsoft.network/applicationgateways": (
        MovingValue(
            "properties/sku/capacity",
            "properties/autoscaleConfiguration/minCapacity",
            low="properties/autoscaleConfiguration/minCapacity",
            high="properties/autoscaleConfiguration/maxCapacity",
        ),
    ),
    # TF: mssql_database; learn.microsoft.com/azure/azure-sql/database/
    # service-tier-hyperscale: such a database has no maximum size, it grows as needed.
    "microsoft.sql/servers/databases": (
        # A database takes the sku of the elastic pool that it is in.
        *(
            MovingValue(f"sku/{name}", _IN_A_POOL)
            for name in ("name", "tier", "capacity", "family", "size")
        ),
        MovingValue("properties/maxSizeBytes", "sku/tier", ("Hyperscale",)),
    ),
    # types
    "microsoft.web/serverfarms": (
        MovingValue(
            "sku/capacity",
            "properties/elasticScaleEnabled",
            (True,),
            low=OWN,
            high="properties/maximumElasticWorkerCount",
        ),
        MovingValue(
            "properties/targetWorkerCount", "properties/perSiteScaling", (True,)
        ),
    ),
}
"""By ARM type, in lower case."""

# learn.microsoft.com/azure/azure-monitor/autoscale/autoscale-overview
AUTOSCALED: Mapping[str, str] = {
    "microsoft.apimanagement/service": "sku/capacity",
    "microsoft.compute/virtualmachinescalesets": "sku/capacity",
    "microsoft.kusto/clusters": "sku/capacity",
    "microsoft.servicebus/namespaces": "sku/capacity",
    "microsoft.signalrservice/signalr": "sku/capacity",
    "microsoft.web/serverfarms": "sku/capacity",
}
"""The value that an autoscale setting of Azure Monitor moves, by ARM type."""
