"""The Azure kinds that run: for each an informer, a controller and a reconciler.

Kinds come and go with their CRDs while the process runs; each one's trouble stays its
own. The set is also the view of all Azure objects that reconcilers look owners and
references up in.
"""

import threading
from collections.abc import Callable, Mapping

import attrs

from asoreconcile.azure.dependents import Node
from asoreconcile.azure.intervals import Intervals
from asoreconcile.azure.policy import crosses_skip
from asoreconcile.azure.reconciler import ArmReconciler
from asoreconcile.azure.wire import CREDENTIAL_FROM
from asoreconcile.azure.work import Kind, Operator
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Event, Updated
from asoreconcile.cache.informer import Informer
from asoreconcile.catalogue.kinds import KindVersion
from asoreconcile.kube.resources import ApiResource
from asoreconcile.objects import GroupKind, JsonObject, ObjectKey
from asoreconcile.runtime.controller import Controller


@attrs.frozen
class RunningKind:
    """One kind at work."""

    version: KindVersion
    informer: Informer
    controller: Controller


class KindSet:
    """The running kinds. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[GroupKind, RunningKind] = {}

    def add(self, kind: RunningKind) -> None:
        with self._lock:
            self._running = {**self._running, kind.version.group_kind: kind}

    def remove(self, group_kind: GroupKind) -> RunningKind | None:
        with self._lock:
            remaining = dict(self._running)
            removed = remaining.pop(group_kind, None)
            self._running = remaining
        return removed

    def running(self) -> Mapping[GroupKind, RunningKind]:
        """The kinds as of now; the mapping does not change under the caller."""
        return self._running

    # The view that reconcilers have (`azure.work.ServedKinds`).

    def get(self, group_kind: GroupKind, key: ObjectKey) -> JsonObject | None:
        kind = self._running.get(group_kind)
        return None if kind is None else kind.informer.get(key)

    def is_installed(self, group_kind: GroupKind) -> bool:
        return group_kind in self._running

    def served(self, group_kind: GroupKind) -> KindVersion | None:
        kind = self._running.get(group_kind)
        return None if kind is None else kind.version

    # What wake-ups ask (`controllers.wakeups.RunningKinds`).

    def entries_in(self, namespace: str) -> Mapping[Node, Entry]:
        found: dict[Node, Entry] = {}
        for group_kind, kind in self._running.items():
            for key in kind.informer.keys(namespace):
                entry = kind.informer.entry(key)
                if entry is not None:
                    found[Node(group_kind, key)] = entry
        return found

    def wake(self, group_kind: GroupKind, key: ObjectKey) -> None:
        kind = self._running.get(group_kind)
        if kind is not None:
            kind.controller.enqueue(key)


def resource_of(version: KindVersion) -> ApiResource:
    """Where the API server keeps objects of a kind at its version."""
    return ApiResource(
        group=version.gvk.group,
        version=version.gvk.version,
        plural=version.plural,
        kind=version.gvk.kind,
    )


def controller_name(version: KindVersion) -> str:
    """ASO's registered name, the label on its metrics: `resources_resourcegroup`."""
    group = version.gvk.group.removesuffix(".azure.com").replace(".", "")
    return f"{group}_{version.gvk.kind.lower()}"


def wants_pass(event: Event) -> bool:
    """Whether a change of an object is a reason to reconcile it. Pure; reads headers.

    Its creation and end are; an update is when the spec changed, the policy went to or
    from `skip`, or another credential is named. Rule: R6.1.
    """
    if not isinstance(event, Updated):
        return True
    old, new = event.old, event.new
    return (
        old.generation != new.generation
        or old.uid != new.uid
        or crosses_skip(old.annotations, new.annotations)
        or old.annotations.get(CREDENTIAL_FROM) != new.annotations.get(CREDENTIAL_FROM)
    )


def reconciler_for(
    operator: Operator,
    version: KindVersion,
    informer: Informer,
    *,
    sync_period_seconds: float | None,
    uniform: Callable[[float, float], float],
) -> ArmReconciler:
    kind = Kind(
        version=version,
        resource=resource_of(version),
        cache=informer,
        intervals=Intervals(sync_period_seconds=sync_period_seconds, uniform=uniform),
    )
    return ArmReconciler(operator, kind, informer)
