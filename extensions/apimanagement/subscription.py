"""Subscription: export its two keys."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import KEY_PAIR, export_keys

EXTENSIONS = built_in("apimanagement", "Subscription")

EXTENSIONS.on(EXPORT_SECRETS)(export_keys("listSecrets", "2022-08-01", KEY_PAIR))
