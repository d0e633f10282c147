"""OpenShiftCluster: its kubeconfig, and its first user."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import export_keys
from asoreconcile.base.objects import GroupKind

EXTENSIONS = ExtensionSet("redhatopenshift.OpenShiftCluster", BUILT_IN_ORDER)

# Two requests, each made only when its own credentials are wanted.
EXTENSIONS.on(
    EXPORT_SECRETS, GroupKind("redhatopenshift.azure.com", "OpenShiftCluster")
)(export_keys("listAdminCredentials", "2023-11-22", {"adminCredentials": "kubeconfig"}))
EXTENSIONS.on(
    EXPORT_SECRETS, GroupKind("redhatopenshift.azure.com", "OpenShiftCluster")
)(
    export_keys(
        "listCredentials",
        "2023-11-22",
        {"username": "kubeadminUsername", "password": "kubeadminPassword"},
    )
)
