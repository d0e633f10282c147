"""Discovery of resources: aggregated, or one group after the other. Pure.

Raises PageNotFoundError for groups and versions that are not served.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator

import attrs

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.kube.kinds.resources import RestMapper, RestResource
from asoreconcile.testing.kube.wire.status import PageNotFoundError

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_VERBS = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)
_PART_VERBS = ("get", "patch", "update")
_POSTED = {"binding": ("", "v1", "Binding"), "eviction": ("policy", "v1", "Eviction")}
_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES = {None: 2, "beta": 1, "alpha": 0}


@attrs.frozen
class _Part:
    """A subresource, and the kind of its endpoint."""

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...] = _PART_VERBS


def is_aggregated(accept: str) -> bool:
    """Return whether a client asks for aggregated discovery."""
    return "as=APIGroupDiscoveryList" in accept and "v=v2" in accept


def aggregated(kinds: RestMapper, *, core: bool) -> JsonObject:
    """Return all groups with all their resources.

    core: if true, the group of `/api`, otherwise the others.
    """
    known = [r for r in kinds.all() if (r.group == "") is core]
    items = []
    for group_name in dict.fromkeys(resource.group for resource in known):
        versions = [
            {
                "version": version,
                "resources": [_aggregated(r) for r in _at(known, group_name, version)],
                "freshness": "Current",
            }
            for version in _versions(known, group_name)
        ]
        items.append({"metadata": {"name": group_name}, "versions": versions})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def core_versions() -> JsonObject:
    """Return the document at `/api`: the versions of the core group."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [],
    }


def all_of(kinds: RestMapper) -> JsonObject:
    """Return the document at `/apis`: all groups."""
    known = kinds.all()
    names = dict.fromkeys(r.group for r in known if r.group)
    found = [_group(name, known) for name in names]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}


def group(kinds: RestMapper, name: str) -> JsonObject:
    """Return the document at `/apis/NAME`: one group and its versions."""
    known = kinds.all()
    if not any(resource.group == name for resource in known):
        raise PageNotFoundError
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, known)}


def resources(kinds: RestMapper, group_name: str, version: str) -> JsonObject:
    """Return the document at `/api/v1` or `/apis/GROUP/VERSION`."""
    chosen = _at(kinds.all(), group_name, version)
    if not chosen:
        raise PageNotFoundError
    listed: list[JsonObject] = []
    for resource in chosen:
        one: JsonObject = {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": list(_VERBS),
            "storageVersionHash": _storage_hash(resource),
        }
        listed.append(one | _names(resource))
        listed += [_part(resource, part) for part in _parts(resource)]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": chosen[0].api_version,
        "resources": listed,
    }


def _aggregated(resource: RestResource) -> JsonObject:
    found: JsonObject = {
        "resource": resource.plural,
        "responseKind": _kind(resource.group, resource.version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(_VERBS),
    } | _names(resource)
    if parts := [*_parts(resource)]:
        found["subresources"] = [
            {
                "subresource": part.name,
                "responseKind": _kind(part.group, part.version, part.kind),
                "verbs": list(part.verbs),
            }
            for part in parts
        ]
    return found


def _kind(group_name: str, version: str, kind: str) -> JsonObject:
    return {"group": group_name, "version": version, "kind": kind}


def _storage_hash(resource: RestResource) -> str:
    """Return a hash that changes when a kind is stored at another version."""
    stored = f"{resource.table.group}/{resource.stored_version or resource.version}"
    digest = hashlib.sha256(f"{stored}/{resource.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def _names(resource: RestResource) -> JsonObject:
    named = {"shortNames": resource.short_names, "categories": resource.categories}
    return {name: list(values) for name, values in named.items() if values}


def _parts(resource: RestResource) -> Iterator[_Part]:
    for name in resource.subresources:
        if name in _POSTED:
            yield _Part(name, *_POSTED[name], verbs=("create",))
        elif name == "scale":
            yield _Part(name, "autoscaling", "v1", "Scale")
        else:
            yield _Part(name, resource.group, resource.version, resource.kind)


def _part(resource: RestResource, part: _Part) -> JsonObject:
    found: JsonObject = {
        "name": f"{resource.plural}/{part.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": part.kind,
        "verbs": list(part.verbs),
    }
    if part.group != resource.group:
        found |= {"group": part.group, "version": part.version}
    return found


def _group(name: str, known: Iterable[RestResource]) -> JsonObject:
    versions = _versions(known, name)
    shown = [{"groupVersion": f"{name}/{v}", "version": v} for v in versions]
    return {"name": name, "versions": shown, "preferredVersion": shown[0]}


def _at(
    known: Iterable[RestResource], group_name: str, version: str
) -> list[RestResource]:
    return [r for r in known if (r.group, r.version) == (group_name, version)]


def _versions(known: Iterable[RestResource], group_name: str) -> list[str]:
    """Return a group's versions, the preferred first: v2, v1, v1beta1, v1alpha1,
    others.
    """
    found = {resource.version for resource in known if resource.group == group_name}
    return sorted(sorted(found), key=_priority, reverse=True)


def _priority(version: str) -> tuple[int, int, int]:
    match = _VERSION.fullmatch(version)
    if match is None:
        return (-1, 0, 0)
    major, stage, minor = match.groups()
    return (_STAGES[stage], int(major), int(minor or 0))
