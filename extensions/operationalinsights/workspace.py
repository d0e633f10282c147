"""Workspace: its shared keys."""

from asoreconcile.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import export_keys
from asoreconcile.objects import GroupKind

EXTENSIONS = ExtensionSet("operationalinsights.Workspace", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, GroupKind("operationalinsights.azure.com", "Workspace"))(
    export_keys(
        "sharedKeys",
        "2020-08-01",
        {
            "primarySharedKey": "primarySharedKey",
            "secondarySharedKey": "secondarySharedKey",
        },
    )
)
