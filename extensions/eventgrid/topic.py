"""Topic: export its two keys."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import export_keys

EXTENSIONS = built_in("eventgrid", "Topic")

EXTENSIONS.on(EXPORT_SECRETS)(
    export_keys("listKeys", "2021-12-01", {"key1": "key1", "key2": "key2"})
)
