"""NamespacesAuthorizationRule: export its keys."""

from asoreconcile.azure.extensions.servicebus._shared import API_VERSION
from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import (
    KEYS_AND_CONNECTION_STRINGS,
    export_keys,
)

EXTENSIONS = built_in("servicebus", "NamespacesAuthorizationRule")

EXTENSIONS.on(EXPORT_SECRETS)(
    export_keys("listKeys", API_VERSION, KEYS_AND_CONNECTION_STRINGS)
)
