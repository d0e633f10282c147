"""The REST resources of kinds."""

import attrs

from asoreconcile.base.errors import check_is
from asoreconcile.base.objects import GroupKind, GroupVersionKind


@attrs.frozen
class ApiResource:
    """A kind as the REST API addresses it: `/apis/{group}/{version}/{plural}`.

    Raises TypeError or ValueError for a part that cannot be in a path.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    def __attrs_post_init__(self) -> None:
        for name in ("group", "version", "plural", "kind"):
            value = getattr(self, name)
            check_is(name, value, str)
            # They are parts of a path. Only the core group has no name.
            if "/" in value or not (value or name == "group"):
                raise ValueError(f"{name} is {value!r:.80}: give one word, without /")
        check_is("namespaced", self.namespaced, bool)

    @property
    def api_version(self) -> str:
        """`group/version`, as in `apiVersion`; `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> GroupKind:
        """The kind without its version."""
        return GroupKind(self.group, self.kind)

    @property
    def gvk(self) -> GroupVersionKind:
        """Group, version and kind, without the plural that only paths need."""
        return GroupVersionKind(self.group, self.version, self.kind)

    @property
    def full_name(self) -> str:
        """The name in kubectl: `leases.coordination.k8s.io`, `secrets`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(
        self, namespace: str | None = None, name: str = "", subresource: str = ""
    ) -> str:
        """Return the URL path; without a namespace, for all namespaces.

        Raises ValueError for one object without its namespace.
        """
        if name:
            check_namespace(self, namespace, name)
        path = f"/apis/{self.group}" if self.group else "/api"
        path += f"/{self.version}"
        if self.namespaced and namespace:
            path += f"/namespaces/{namespace}"
        path += f"/{self.plural}"
        if name:
            path += f"/{name}"
        return f"{path}/{subresource}" if subresource else path


def check_namespace(resource: ApiResource, namespace: str | None, name: str) -> None:
    """Raise ValueError if an object of this kind lacks the namespace it needs: the
    server's 404 or 405 would not say so.
    """
    if resource.namespaced and not namespace:
        raise ValueError(
            f"{resource.kind} {name!r} needs a namespace; a kind of the whole cluster "
            "has namespaced=False"
        )


NAMESPACES = ApiResource("", "v1", "namespaces", "Namespace", namespaced=False)
SECRETS = ApiResource("", "v1", "secrets", "Secret")
CONFIG_MAPS = ApiResource("", "v1", "configmaps", "ConfigMap")
EVENTS = ApiResource("", "v1", "events", "Event")
LEASES = ApiResource("coordination.k8s.io", "v1", "leases", "Lease")
CUSTOM_RESOURCE_DEFINITIONS = ApiResource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)

# The kinds that controllers own most often.
PODS = ApiResource("", "v1", "pods", "Pod")
SERVICES = ApiResource("", "v1", "services", "Service")
SERVICE_ACCOUNTS = ApiResource("", "v1", "serviceaccounts", "ServiceAccount")
PERSISTENT_VOLUME_CLAIMS = ApiResource(
    "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"
)
NODES = ApiResource("", "v1", "nodes", "Node", namespaced=False)
DEPLOYMENTS = ApiResource("apps", "v1", "deployments", "Deployment")
REPLICA_SETS = ApiResource("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SETS = ApiResource("apps", "v1", "statefulsets", "StatefulSet")
DAEMON_SETS = ApiResource("apps", "v1", "daemonsets", "DaemonSet")
JOBS = ApiResource("batch", "v1", "jobs", "Job")
CRON_JOBS = ApiResource("batch", "v1", "cronjobs", "CronJob")
INGRESSES = ApiResource("networking.k8s.io", "v1", "ingresses", "Ingress")
NETWORK_POLICIES = ApiResource(
    "networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"
)
POD_DISRUPTION_BUDGETS = ApiResource(
    "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"
)
