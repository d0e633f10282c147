"""Code that the kinds of Event Hubs share."""

from asoreconcile.azure.middleware.factories import (
    KEYS_AND_CONNECTION_STRINGS,
    export_keys,
)

API_VERSION = "2024-01-01"

EXPORT_RULE_KEYS = export_keys("listKeys", API_VERSION, KEYS_AND_CONNECTION_STRINGS)
