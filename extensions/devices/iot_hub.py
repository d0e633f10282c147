"""IotHub: export the keys of the policies that every hub has."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import export_keys

EXTENSIONS = built_in("devices", "IotHub")

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

EXTENSIONS.on(EXPORT_SECRETS)(export_keys("listkeys", "2023-06-30", _KEYS))
