"""IotHub: export the keys of the policies that every hub has."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import export_keys
from asoreconcile.base.objects import GroupKind

EXTENSIONS = ExtensionSet("devices.IotHub", BUILT_IN_ORDER)

_KEYS = {
    f"{name}{which}Key": f"value[keyName={policy}].{which.lower()}Key"
    for name, policy in (
        ("iotHubOwner", "iothubowner"),
        ("service", "service"),
        ("device", "device"),
        ("registryRead", "registryRead"),
        ("registryReadWrite", "registryReadWrite"),
    )
    for which in ("Primary", "Secondary")
}

EXTENSIONS.on(EXPORT_SECRETS, GroupKind("devices.azure.com", "IotHub"))(
    export_keys("listkeys", "2023-06-30", _KEYS)
)
