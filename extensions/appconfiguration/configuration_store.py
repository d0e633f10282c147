"""ConfigurationStore: export its four access keys."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import export_keys

EXTENSIONS = built_in("appconfiguration", "ConfigurationStore")

# Azure lists the keys by name; of each the id, the value and the connection string.
_KEYS = {
    f"{name}{part}": f"value[name={listed}].{field}"
    for name, listed in (
        ("primary", "Primary"),
        ("secondary", "Secondary"),
        ("primaryReadOnly", "Primary Read Only"),
        ("secondaryReadOnly", "Secondary Read Only"),
    )
    for part, field in (
        ("KeyID", "id"),
        ("Key", "value"),
        ("ConnectionString", "connectionString"),
    )
}

EXTENSIONS.on(EXPORT_SECRETS)(export_keys("listKeys", "2022-05-01", _KEYS))
