"""Registers an application's informers in its readiness check and metrics."""

import threading

from asoreconcile.cache.informer import Informer
from asoreconcile.observability.metrics import RuntimeMetrics
from asoreconcile.runtime.health import CachesSynced


class InformerRegistry:
    """The informers that metrics and `/debug` show, by kind. Safe from any thread."""

    def __init__(self, *, synced: CachesSynced, metrics: RuntimeMetrics) -> None:
        """synced, metrics: each informer is shown in both."""
        self._synced = synced
        self._metrics = metrics
        self._lock = threading.Lock()
        self._labels: dict[Informer, str] = {}

    def add(self, informer: Informer, *, cluster: str = "") -> bool:
        """Show an informer; False if it is already shown. cluster: "" is the process's
        own.
        """
        with self._lock:
            if informer in self._labels:
                return False
            label = self._labels[informer] = self._label(informer, cluster)
            # Under the lock, here and below: another thread may reuse the label, and a
            # late removal would remove it from the new informer.
            self._synced.watch(label, informer.has_synced, lambda: informer.last_error)
            self._metrics.informer(
                label,
                has_synced=informer.has_synced,
                idle_seconds=informer.seconds_since_activity,
                unreadable=lambda: len(informer.unreadable),
            )
        return True

    def by_label(self) -> dict[str, Informer]:
        """Return the shown informers, by label."""
        with self._lock:
            return {label: informer for informer, label in self._labels.items()}

    def remove(self, informer: Informer) -> None:
        """Stop showing an informer. Idempotent."""
        with self._lock:
            label = self._labels.pop(informer, None)
            if label is not None:
                self._synced.forget(label)
                self._metrics.forget(label)

    def _label(self, informer: Informer, cluster: str) -> str:
        """Return the kind, with a number from its second informer on."""
        kind = str(informer.resource.group_kind)
        kind = f"{cluster}/{kind}" if cluster else kind
        taken = set(self._labels.values())
        # One kind may be cached twice, whole and as metadata: metric series need unique
        # names.
        label, count = kind, 1
        while label in taken:
            count += 1
            label = f"{kind} ({count})"
        return label
