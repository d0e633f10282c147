"""OpenShiftCluster: its kubeconfig, and its first user."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import export_keys

EXTENSIONS = built_in("redhatopenshift", "OpenShiftCluster")

# Two requests, each made only when its own credentials are wanted.
EXTENSIONS.on(EXPORT_SECRETS)(
    export_keys(
        "listAdminCredentials", "2023-11-22", {"adminCredentials": "kubeconfig"}
    )
)
EXTENSIONS.on(EXPORT_SECRETS)(
    export_keys(
        "listCredentials",
        "2023-11-22",
        {"username": "kubeadminUsername", "password": "kubeadminPassword"},
    )
)
