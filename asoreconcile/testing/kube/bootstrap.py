"""The roles and bindings a cluster begins with, as kube-apiserver makes them.

Those that say who may ask what there is; the many roles of Kubernetes' own components
are left out, for none of them runs here.
"""

from collections.abc import Iterator

from asoreconcile.objects import JsonObject
from asoreconcile.testing.kube.rbac import GROUP
from asoreconcile.testing.kube.users import AUTHENTICATED, MASTERS, UNAUTHENTICATED

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


def roles() -> Iterator[JsonObject]:
    """The ClusterRoles, each followed by the binding of its name."""
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
