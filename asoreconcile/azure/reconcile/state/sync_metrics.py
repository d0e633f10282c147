"""Metrics of syncs, and of reads of Azure and the cluster on which a PUT or DELETE
depends.
"""

from typing import Literal

from prometheus_client import CollectorRegistry, Counter

from asoreconcile.azure.reconcile.model.decisions import SyncCause
from asoreconcile.base.objects import GroupKind

Confirmed = Literal["object", "namespace", "rivals"]

_DRIFT: frozenset[SyncCause] = frozenset({"drift", "undeclared"})


class SyncMetrics:
    """The metric families, registered at one registry. Make one for each process.
    Thread-safe.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._avoided = Counter(
            "asoreconcile_sync_puts_avoided",
            "Syncs that sent no PUT, by what they found",
            ("cause",),
            registry=registry,
        )
        self._sent = Counter(
            "asoreconcile_sync_puts",
            "Syncs that sent a PUT, by the cause",
            ("cause",),
            registry=registry,
        )
        self._drift = Counter(
            "asoreconcile_drift_found",
            "Syncs that found a value changed in Azure",
            ("value",),
            registry=registry,
        )
        self._replaced = Counter(
            "asoreconcile_foreign_values_replaced",
            "PUTs that removed or overwrote values that others wrote, by kind",
            ("kind",),
            registry=registry,
        )
        self._confirmations = Counter(
            "asoreconcile_confirmations",
            "Reads of an object, its Namespace or its rivals before a PUT or DELETE",
            ("of",),
            registry=registry,
        )

    def count(self, cause: SyncCause, is_put: bool) -> None:
        """Count a sync; is_put: whether it sends a PUT."""
        (self._sent if is_put else self._avoided).labels(cause).inc()
        if cause in _DRIFT:
            value = "declared" if cause == "drift" else "undeclared"
            self._drift.labels(value).inc()

    def count_replaced(self, kind: GroupKind) -> None:
        """Count a PUT that replaces values of other writers. kind: kind of the
        object.
        """
        self._replaced.labels(str(kind)).inc()

    def count_confirmation(self, of: Confirmed) -> None:
        """Count a read that a PUT or DELETE waits for: of the object, its Namespace, or
        all objects of its kind.
        """
        self._confirmations.labels(of).inc()
