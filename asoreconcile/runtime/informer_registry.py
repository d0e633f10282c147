"""The informers of an application: shared, started, and listed for its checks."""

import threading

from asoreconcile.cache.informer import Informer
from asoreconcile.cache.informers import Informers
from asoreconcile.kube.resources import ApiResource
from asoreconcile.metrics import RuntimeMetrics
from asoreconcile.runtime.health import CachesSynced
from asoreconcile.runtime.manager import Manager
from asoreconcile.runtime.runnable import RunnableGroup


class InformerRegistry:
    """The informers by kind and selection. Safe from any thread."""

    def __init__(
        self,
        informers: Informers,
        manager: Manager,
        *,
        synced: CachesSynced,
        metrics: RuntimeMetrics,
    ) -> None:
        """informers: started by the manager already; those of others are added to it.
        synced, metrics: where each is shown.
        """
        self._informers = informers
        self._manager = manager
        self._synced = synced
        self._metrics = metrics
        self._lock = threading.Lock()
        self._shown: dict[Informer, str] = {}

    def of(
        self,
        source: ApiResource | Informer,
        *,
        metadata_only: bool = False,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> Informer:
        """As `Application.informer`."""
        if isinstance(source, Informer):
            informer = source
        else:
            informer = self._informers.of(
                source,
                metadata_only=metadata_only,
                label_selector=label_selector,
                field_selector=field_selector,
            )
        with self._lock:
            if informer in self._shown:
                return informer
            label = self._shown[informer] = self._label(informer)
        self._show(label, informer)
        if informer is source:
            self._manager.add(informer, group=RunnableGroup.CACHES)
        return informer

    def _label(self, informer: Informer) -> str:
        """The kind, numbered from the second informer of one kind on."""
        kind = str(informer.resource.group_kind)
        count = sum(one.resource == informer.resource for one in self._shown)
        return f"{kind} ({count + 1})" if count else kind

    def _show(self, label: str, informer: Informer) -> None:
        self._synced.watch(label, informer.has_synced, lambda: informer.last_error)
        self._metrics.informer(
            label,
            has_synced=informer.has_synced,
            idle_seconds=informer.seconds_since_activity,
            unreadable=lambda: len(informer.unreadable),
        )
