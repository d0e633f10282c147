"""The initial contents of a cluster: its first namespaces, and the roles of its users.

The roles are those for administrators and for discovery. The many roles of Kubernetes'
own components are left out, because those components do not run here.
"""

from collections.abc import Iterator

from asoreconcile.base.objects import JsonObject, ObjectKey
from asoreconcile.testing.kube.access.rbacobjects import GROUP
from asoreconcile.testing.kube.access.users import (
    AUTHENTICATED,
    MASTERS,
    UNAUTHENTICATED,
)
from asoreconcile.testing.kube.kinds.resources import NAMESPACES, RestMapper
from asoreconcile.testing.kube.store.storage import Storage
from asoreconcile.testing.kube.writing.options import WriteOptions
from asoreconcile.testing.kube.writing.writes import WriteHandler

_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_ALIVE = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
_DOCUMENTS = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"]
_OWN_REVIEWS = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]
_ROLES: dict[str, tuple[list[str], list[JsonObject]]] = {
    "cluster-admin": (
        [MASTERS],
        [
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
            {"verbs": ["*"], "nonResourceURLs": ["*"]},
        ],
    ),
    "system:discovery": (
        [AUTHENTICATED],
        [{"verbs": ["get"], "nonResourceURLs": sorted(_DOCUMENTS + _ALIVE)}],
    ),
    "system:basic-user": (
        [AUTHENTICATED],
        [
            {
                "verbs": ["create"],
                "apiGroups": ["authorization.k8s.io"],
                "resources": _OWN_REVIEWS,
            },
            {
                "verbs": ["create"],
                "apiGroups": ["authentication.k8s.io"],
                "resources": ["selfsubjectreviews"],
            },
        ],
    ),
    "system:public-info-viewer": (
        [AUTHENTICATED, UNAUTHENTICATED],
        [{"verbs": ["get"], "nonResourceURLs": _ALIVE}],
    ),
}


def begin(
    kinds: RestMapper, writes: WriteHandler, storage: Storage, *, rbac: bool
) -> None:
    """Create the first namespaces and, if `rbac` is true, the roles, if they are
    missing.
    """
    wanted = [(NAMESPACES, {"metadata": {"name": name}}) for name in _NAMESPACES]
    for role in roles() if rbac else ():
        plural = f"{role['kind'].lower()}s"
        resource = kinds.find(GROUP, "v1", plural)
        if resource is not None:
            wanted.append((resource, role))
    for resource, obj in wanted:
        key = ObjectKey("", obj["metadata"]["name"])
        if storage.get(resource.table, key) is None:
            writes.create(resource, "", obj, WriteOptions())


def roles() -> Iterator[JsonObject]:
    """Yield the ClusterRoles, each followed by the binding with its name."""
    for name, (groups, rules) in _ROLES.items():
        meta: JsonObject = {
            "name": name,
            "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
            "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
        }
        version = f"{GROUP}/v1"
        yield {
            "kind": "ClusterRole",
            "apiVersion": version,
            "metadata": meta,
            "rules": rules,
        }
        yield {
            "kind": "ClusterRoleBinding",
            "apiVersion": version,
            "metadata": meta,
            "subjects": [
                {"kind": "Group", "apiGroup": GROUP, "name": group} for group in groups
            ],
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
        }
