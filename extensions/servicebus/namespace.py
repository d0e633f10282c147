"""Namespace: its endpoint, and the keys of the rule that every namespace has."""

from asoreconcile.azure.extensions.servicebus._shared import API_VERSION
from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import (
    KEYS_AND_CONNECTION_STRINGS,
    export_keys,
    export_status,
)

EXTENSIONS = built_in("servicebus", "Namespace")

EXTENSIONS.on(EXPORT_SECRETS)(
    export_keys(
        "AuthorizationRules/RootManageSharedAccessKey/listKeys",
        API_VERSION,
        KEYS_AND_CONNECTION_STRINGS,
    )
)
EXTENSIONS.on(EXPORT_SECRETS)(export_status({"endpoint": "status.serviceBusEndpoint"}))
