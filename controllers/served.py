"""Which of our kinds the cluster serves, and at which version, from its discovery.

One request answers for all kinds; the CRDs themselves, up to a megabyte each, are not
read.
"""

from collections.abc import Mapping
from typing import Protocol

import attrs

from asoreconcile.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.objects import GroupKind, JsonObject

DISCOVERY_PATH = "/apis"
DISCOVERY_ACCEPT = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)

# ASO's own CRDs carry, beside each version, one that only it stores objects in.
_STORAGE_SUFFIX = "storage"


class Reads(Protocol):
    """Reads a document that is no object (`kube.client.KubeClient`)."""

    def read(self, path: str, *, accept: str) -> JsonObject: ...


@attrs.frozen
class Served:
    """The kinds of ours that the cluster serves.

    versions: what to run, one version a kind. refused: kinds that are served in a way
    this version cannot run, and why.
    """

    versions: Mapping[GroupKind, KindVersion]
    refused: Mapping[GroupKind, str]


def discover(client: Reads, catalogue: Catalogue) -> Served:
    """Ask the cluster. Blocking, one request. Raises ApiError, TransportError."""
    document = client.read(DISCOVERY_PATH, accept=DISCOVERY_ACCEPT)
    return served_in(document, catalogue)


def served_in(document: JsonObject, catalogue: Catalogue) -> Served:
    """Our kinds in an APIGroupDiscoveryList. Pure."""
    known = {kind.group_kind: kind for kind in catalogue.kinds()}
    versions: dict[GroupKind, KindVersion] = {}
    refused: dict[GroupKind, str] = {}
    for group_kind, names in _served_names(document).items():
        kind = known.get(group_kind)
        if kind is None or not kind.is_arm:
            continue
        catalogued = [name for name in names if name in kind.versions]
        if any(name.endswith(_STORAGE_SUFFIX) for name in names):
            refused[group_kind] = (
                "its CRD was installed by Azure Service Operator and stores objects in "
                "a version of its own, which this version cannot convert: install our "
                "CRD into a cluster that it does not run"
            )
        elif len(catalogued) != len(names):
            unknown = ", ".join(sorted(set(names) - set(catalogued)))
            refused[group_kind] = f"the cluster serves unknown versions: {unknown}"
        else:
            # The first served version is the one the API server prefers.
            versions[group_kind] = kind.version(catalogued[0])
    return Served(versions, refused)


def _served_names(document: JsonObject) -> dict[GroupKind, list[str]]:
    found: dict[GroupKind, list[str]] = {}
    for group in document.get("items") or ():
        name = group.get("metadata", {}).get("name", "")
        for version in group.get("versions") or ():
            for resource in version.get("resources") or ():
                kind = (resource.get("responseKind") or {}).get("kind", "")
                found.setdefault(GroupKind(name, kind), []).append(version["version"])
    return found
