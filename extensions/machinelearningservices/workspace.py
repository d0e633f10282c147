"""Workspace: the keys of what belongs to it."""

from asoreconcile.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import export_keys
from asoreconcile.objects import GroupKind

EXTENSIONS = ExtensionSet("machinelearningservices.Workspace", BUILT_IN_ORDER)

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

EXTENSIONS.on(
    EXPORT_SECRETS, GroupKind("machinelearningservices.azure.com", "Workspace")
)(export_keys("listKeys", "2021-07-01", _KEYS))
