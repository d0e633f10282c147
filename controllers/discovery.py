"""Finds the Azure kinds that the cluster serves, and their versions, by discovery.

One request covers all kinds.
"""

from collections.abc import Collection, Mapping, Sequence

import attrs

from asoreconcile.azure.catalogue.conversion import STORED_SUFFIX, stored_name
from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion, newest
from asoreconcile.azure.catalogue.storage_codec import kept_stored
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import GroupKind, JsonObject
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ApiError

DISCOVERY_PATH = "/apis"
# Aggregated discovery, stable since Kubernetes 1.30: the older form takes a request for
# each of a hundred group-versions.
DISCOVERY_ACCEPT = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)
_LIST = "APIGroupDiscoveryList"
LEAST_KUBERNETES = "1.30"
"""The least version of Kubernetes whose discovery can be read."""
_NOT_ACCEPTABLE = 406
Names = Mapping[GroupKind, Sequence[str]]
"""The served versions of each kind, the one that the API server prefers first."""


class OldServerError(AsoreconcileError):
    """The API server is too old for this operator, so that no kind could be started."""


@attrs.frozen
class DiscoveredKinds:
    """The Azure kinds that the cluster serves.

    versions: one version to run for each kind.
    refused: kinds that are served in a form that this release cannot run, with the
    reason.
    """

    versions: Mapping[GroupKind, KindVersion]
    refused: Mapping[GroupKind, str]


def discover(client: KubeClient, catalogue: Catalogue) -> DiscoveredKinds:
    """Return the Azure kinds that the cluster's discovery shows, stored forms too.
    Blocking, one request. Raises as `read_names`.
    """
    return served_in(read_names(client), catalogue, converts=True)


def read_names(client: KubeClient) -> Names:
    """Read the served versions of all kinds of the cluster. Blocking, one request.

    Raises ApiError, TransportError; OldServerError if the API server does not give all
    kinds in one document.
    """
    try:
        document = client.read(DISCOVERY_PATH, accept=DISCOVERY_ACCEPT)
    except ApiError as error:
        if error.status != _NOT_ACCEPTABLE:
            raise
        document = {}
    if document.get("kind") != _LIST:
        found = client.read("/version", accept="application/json").get("gitVersion")
        raise OldServerError(
            f"the API server is of Kubernetes {found or 'an unknown version'}: "
            f"{LEAST_KUBERNETES} is the least that works"
        )
    return _served_names(document)


def served_in(
    served: Names,
    catalogue: Catalogue,
    *,
    converts: bool = False,
    stored: Mapping[GroupKind, Collection[str]] | None = None,
) -> DiscoveredKinds:
    """Return the Azure kinds among all served kinds that can run. Pure.

    converts: if true, this process serves conversion reviews, so that kinds may be
    stored in a stored form.
    stored: the versions that objects of a kind may be stored in, if they are known.
    """
    known = {kind.group_kind: kind for kind in catalogue.kinds()}
    versions: dict[GroupKind, KindVersion] = {}
    refused: dict[GroupKind, str] = {}
    for group_kind, shown in served.items():
        kind = known.get(group_kind)
        if kind is None:
            continue
        forms = {version + STORED_SUFFIX for version in kind.versions}
        unknown = {*shown} - {*kind.versions} - forms
        # The fields of an unknown version would be dropped by a write, unless the
        # objects are stored in a version that this build knows.
        kept = (stored or {}).get(group_kind, unknown)
        names = [name for name in shown if name not in unknown]
        if not names or not unknown.isdisjoint(kept):
            refused[group_kind] = (
                f"the cluster stores or serves versions that this release does not "
                f"know: {', '.join(sorted(unknown))}; a rollback is possible over one "
                "release only: install a newer one"
            )
        elif forms.isdisjoint(names):
            # The first served version is the one the API server prefers.
            versions[group_kind] = kind.version(names[0])
        elif not converts:
            refused[group_kind] = (
                "its objects are stored in a form that needs the conversion webhook: "
                "run the manager with --webhook-port"
            )
        elif stored_name(kind) in names:
            versions[group_kind] = kept_stored(kind)
        else:
            # The CRD of a release that knew no newer version.
            versions[group_kind] = kept_stored(kind, _newest(forms & {*names}))
    return DiscoveredKinds(versions, refused)


def _newest(stored: set[str]) -> str:
    """Return the stored form of the newest version; a release wins over a later
    preview.
    """
    return newest([n.removesuffix(STORED_SUFFIX) for n in stored]) + STORED_SUFFIX


def _served_names(document: JsonObject) -> dict[GroupKind, list[str]]:
    found: dict[GroupKind, list[str]] = {}
    for group in document.get("items") or ():
        name = group.get("metadata", {}).get("name", "")
        for version in group.get("versions") or ():
            for resource in version.get("resources") or ():
                kind = (resource.get("responseKind") or {}).get("kind", "")
                found.setdefault(GroupKind(name, kind), []).append(version["version"])
    return found
