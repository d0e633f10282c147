"""Workspace: export keys of its resources; retried while its storage is missing."""

from asoreconcile.azure.middleware.extension_points import (
    CLASSIFY_ERROR,
    EXPORT_SECRETS,
)
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import (
    code,
    export_keys,
    message_contains,
    reclassify,
)

EXTENSIONS = built_in("machinelearningservices", "Workspace")

_KEYS = {
    "appInsightsInstrumentationKey": "appInsightsInstrumentationKey",
    "userStorageKey": "userStorageKey",
    "primaryNotebookAccessKey": "notebookAccessKeys.primaryAccessKey",
    "secondaryNotebookAccessKey": "notebookAccessKeys.secondaryAccessKey",
    "containerRegistryUserName": "containerRegistryCredentials.username",
    "containerRegistryPassword": (
        "containerRegistryCredentials.passwords[name=password].value"
    ),
    "containerRegistryPassword2": (
        "containerRegistryCredentials.passwords[name=password2].value"
    ),
}

EXTENSIONS.on(EXPORT_SECRETS)(export_keys("listKeys", "2021-07-01", _KEYS))
EXTENSIONS.on(CLASSIFY_ERROR)(
    reclassify(code("BadRequest") & message_contains("StorageAccountIsNotProvisioned"))
)
