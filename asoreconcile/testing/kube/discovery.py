"""Which resources there are, as clients discover them: aggregated, and one by one."""

from collections.abc import Iterable

from asoreconcile.objects import JsonObject
from asoreconcile.testing.kube.kinds import Kinds, Resource
from asoreconcile.testing.kube.status import PageNotFoundError

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_VERBS = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
]
_STATUS_VERBS = ["get", "patch", "update"]


def is_aggregated(accept: str) -> bool:
    """Whether a client asks for everything at once."""
    return "as=APIGroupDiscoveryList" in accept and "v=v2" in accept


def aggregated(kinds: Kinds, *, core: bool) -> JsonObject:
    """All groups with all their resources; core: the one of `/api`, else the others."""
    groups: dict[str, dict[str, list[JsonObject]]] = {}
    for resource in kinds.all():
        if (resource.group == "") is core:
            versions = groups.setdefault(resource.group, {})
            versions.setdefault(resource.version, []).append(_aggregated(resource))
    items = [
        {
            "metadata": {"name": group, "creationTimestamp": None},
            "versions": [
                {"version": version, "resources": resources, "freshness": "Current"}
                for version, resources in versions.items()
            ],
        }
        for group, versions in groups.items()
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _aggregated(resource: Resource) -> JsonObject:
    kind = {
        "group": resource.group,
        "version": resource.version,
        "kind": resource.kind,
    }
    found: JsonObject = {
        "resource": resource.plural,
        "responseKind": kind,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": _VERBS,
    }
    if resource.short_names:
        found["shortNames"] = list(resource.short_names)
    if resource.categories:
        found["categories"] = list(resource.categories)
    if resource.has_status:
        status = {
            "subresource": "status",
            "responseKind": kind,
            "verbs": _STATUS_VERBS,
        }
        found["subresources"] = [status]
    return found


def core_versions() -> JsonObject:
    """`/api`."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [],
    }


def groups(kinds: Kinds) -> JsonObject:
    """`/apis`."""
    names = {r.group: None for r in kinds.all() if r.group}
    found = [_group(name, kinds.all()) for name in names]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}


def group(kinds: Kinds, name: str) -> JsonObject:
    """`/apis/NAME`. Raises StatusError 404."""
    known = kinds.all()
    if not any(resource.group == name for resource in known):
        raise PageNotFoundError
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, known)}


def _group(name: str, known: Iterable[Resource]) -> JsonObject:
    versions = list({r.version: None for r in known if r.group == name})
    shown = [{"groupVersion": f"{name}/{v}", "version": v} for v in versions]
    return {"name": name, "versions": shown, "preferredVersion": shown[0]}


def resources(kinds: Kinds, group_name: str, version: str) -> JsonObject:
    """`/api/v1` and `/apis/GROUP/VERSION`. Raises StatusError 404."""
    chosen = [
        resource
        for resource in kinds.all()
        if (resource.group, resource.version) == (group_name, version)
    ]
    if not chosen:
        raise PageNotFoundError
    listed: list[JsonObject] = []
    for resource in chosen:
        one: JsonObject = {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": _VERBS,
        }
        if resource.short_names:
            one["shortNames"] = list(resource.short_names)
        if resource.categories:
            one["categories"] = list(resource.categories)
        listed.append(one)
        if resource.has_status:
            listed.append(
                {
                    "name": f"{resource.plural}/status",
                    "singularName": "",
                    "namespaced": resource.namespaced,
                    "kind": resource.kind,
                    "verbs": _STATUS_VERBS,
                }
            )
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": chosen[0].api_version,
        "resources": listed,
    }
