"""Remove old storage versions from a cluster's CRDs, for `asoctl clean crds`.

A running operator does this automatically (`stored_versions`). The command is for
clusters without an operator, and for CRDs that no operator manages any more.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial

import attrs

from asoreconcile.azure.catalogue.conversion import (
    KindConversionError,
    as_authored,
    rewritten,
)
from asoreconcile.azure.catalogue.kinds import Catalogue, Kind, newest
from asoreconcile.azure.controllers.crd_coverage import stored_version
from asoreconcile.azure.controllers.crd_labels import NAME_LABEL, VERSION_LABEL
from asoreconcile.azure.controllers.crd_plan import OPERATORS_NAME, DesiredCrds
from asoreconcile.azure.controllers.crds import BUILD
from asoreconcile.azure.controllers.storage_rewrite import (
    PROGRESS_MANAGER,
    SETTLE_SECONDS,
    StorageRewrite,
    listed_versions,
    stored_resource,
)
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    annotations,
    dig,
    key_of,
    labels,
    metadata,
    resource_version,
    spec,
)
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ApiError
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from asoreconcile.kube.selection import Selection

_CHANGED = "the CRD changed meanwhile: run this again"
_UNFINISHED = ("v1alpha", "v1beta")


class CrdCleanupError(AsoreconcileError):
    """The CRDs were not cleaned; the message says why, and gives advice."""


@attrs.frozen
class CleanedCrd:
    """The result for one CRD.

    stored: the version that objects are stored in.
    dropped: the other versions that were removed from the list, or would be.
    objects: number of objects that were rewritten, or would be.
    problem: the reason if nothing was done.
    """

    name: str
    stored: str
    dropped: tuple[str, ...] = ()
    objects: int = 0
    problem: str = ""


def operators_crds(
    definitions: Sequence[JsonObject], catalogue: Catalogue
) -> list[JsonObject]:
    """Return the CRDs that an operator for Azure installed. Pure.

    They are found by their labels; CRDs of our kinds without labels are included.
    """
    kinds = {kind.group_kind for kind in catalogue.kinds()}
    return [
        one
        for one in definitions
        if _is_labelled(one)
        or GroupKind(spec(one)["group"], spec(one)["names"]["kind"]) in kinds
    ]


def _is_labelled(definition: JsonObject) -> bool:
    found = labels(definition)
    return found.get(NAME_LABEL) == OPERATORS_NAME and VERSION_LABEL in found


def cleaned_crds(
    client: KubeClient,
    catalogue: Catalogue,
    *,
    now: datetime,
    dry_run: bool,
    progress: Callable[[str, int], object],
) -> Iterator[CleanedCrd]:
    """Clean one CRD after the other, and yield each result. Blocking.

    progress: called with a CRD's name and the number of its objects that are written.

    A dry run writes nothing. Raises CrdCleanupError, before anything is written, if
    there is no CRD or one still stores an alpha or beta version; raises ApiError and
    TransportError for the list of CRDs.
    """
    found = _found(client, catalogue)
    unfinished = sorted(
        f"{key_of(one).name} ({stored_version(one)})"
        for one in found
        if stored_version(one).startswith(_UNFINISHED)
    )
    if unfinished:
        raise CrdCleanupError(
            f"{', '.join(unfinished)}: objects are still stored in an alpha or beta "
            "version: install a newer operator with its CRDs first"
        )
    for definition in sorted(found, key=key_of):
        yield cleaned_crd(
            client, definition, now=now, dry_run=dry_run, progress=progress
        )


def _found(client: KubeClient, catalogue: Catalogue) -> list[JsonObject]:
    """Return the CRDs of an operator. Raises CrdCleanupError if there is none."""
    found = operators_crds([*client.list_all(CUSTOM_RESOURCE_DEFINITIONS)], catalogue)
    if not found:
        raise CrdCleanupError(
            "there is nothing to clean, because no CRD of an Azure kind is installed "
            "in this cluster: look at KUBECONFIG"
        )
    return found


def unconverted_crds(
    client: KubeClient,
    catalogue: Catalogue,
    *,
    wait: Callable[[float], object],
    dry_run: bool,
    progress: Callable[[str, int], object],
) -> Iterator[CleanedCrd]:
    """Store the objects of each CRD in the one version that people write, serve this
    version alone, and take the conversion webhook out. Blocking.

    The webhook has to answer meanwhile. A CRD with an object that sets fields which
    this version lacks is left as it is. wait: blocks for some seconds, once. Raises
    CrdCleanupError if there is no CRD.
    """
    moved: list[tuple[Kind, CleanedCrd]] = []
    for definition in _found(client, catalogue):
        if dig(definition, "spec.conversion.strategy") != "Webhook":
            continue
        names = spec(definition)["names"]
        kind = catalogue.kind(GroupKind(spec(definition)["group"], names["kind"]))
        stored = stored_version(definition)
        there = [one["name"] for one in spec(definition)["versions"]]
        known = [name for name in kind.versions if name in there]
        target = kind.storage if kind.storage in known else newest(known)
        done = CleanedCrd(key_of(definition).name, target, (stored,))
        found = [*client.list_all(stored_resource(definition, stored))]
        lost = next(filter(None, (_lost(kind, obj, target) for obj in found)), "")
        if lost or dry_run:
            yield attrs.evolve(done, objects=len(found), problem=lost)
            continue
        _store_in(client, definition, target)
        moved.append((kind, done))
    if moved:
        wait(SETTLE_SECONDS)
    for kind, done in moved:
        key = ObjectKey("", done.name)
        live = client.get(CUSTOM_RESOURCE_DEFINITIONS, key)
        count, is_done = StorageRewrite(client).bring_in_order(
            live, progress=partial(progress, done.name)
        )
        if not is_done:
            yield attrs.evolve(done, problem=_CHANGED)
            continue
        alone = DesiredCrds(BUILD).manifest(kind, (done.stored,))
        change = {
            "metadata": {"annotations": annotations(alone)},
            "spec": {"versions": spec(alone)["versions"], "conversion": None},
        }
        client.patch(CUSTOM_RESOURCE_DEFINITIONS, key, change)
        yield attrs.evolve(done, objects=count)


def _lost(kind: Kind, obj: JsonObject, version: str) -> str:
    """Return why an object cannot be stored in a version, or ""."""
    try:
        _, left = rewritten(kind, as_authored(kind, obj), version)
    except KindConversionError as error:
        return f"{key_of(obj)}: {error}"
    lost = [path for path in left if path.startswith("spec.")]
    return f"{key_of(obj)} sets {lost[0]}, which {version} lacks" if lost else ""


def _store_in(client: KubeClient, definition: JsonObject, version: str) -> None:
    versions = [
        {**one, "storage": one["name"] == version}
        for one in spec(definition)["versions"]
    ]
    change = {
        "metadata": {"resourceVersion": resource_version(definition)},
        "spec": {"versions": versions},
    }
    client.patch(CUSTOM_RESOURCE_DEFINITIONS, key_of(definition), change)


def cleaned_crd(
    client: KubeClient,
    definition: JsonObject,
    *,
    now: datetime,
    dry_run: bool,
    progress: Callable[[str, int], object] = lambda _crd, _count: None,
) -> CleanedCrd:
    """Clean one CRD that was read just now. Blocking; raises TransportError."""
    stored, listed = stored_version(definition), listed_versions(definition)
    old = tuple(name for name in listed if name != stored)
    done = CleanedCrd(key_of(definition).name, stored, old)
    if not old:
        return done
    left = SETTLE_SECONDS - _seconds_since_change(definition, now)
    if left > 0:
        return attrs.evolve(
            done,
            problem="the CRD has just changed, and not every API server may know it: "
            f"run this again in {left:.0f} s",
        )
    resource = stored_resource(definition, stored)
    try:
        if dry_run:
            some = Selection(resource, metadata_only=True)
            return attrs.evolve(done, objects=sum(1 for _ in client.list_all(some)))
        count, is_done = StorageRewrite(client).bring_in_order(
            definition, progress=partial(progress, done.name)
        )
    except ApiError as error:
        return attrs.evolve(done, problem=str(error))
    return attrs.evolve(done, objects=count, problem="" if is_done else _CHANGED)


def _seconds_since_change(definition: JsonObject, now: datetime) -> float:
    """Return the time since the last write of metadata or spec; infinite if not
    recorded.
    """
    times = [
        datetime.fromisoformat(str(entry["time"]))
        for entry in metadata(definition).get("managedFields") or ()
        if entry.get("time")
        and not entry.get("subresource")
        and entry.get("manager") != PROGRESS_MANAGER
    ]
    return min(((now - time).total_seconds() for time in times), default=float("inf"))
