"""The metric families of controllers, by controller-runtime's names."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.metrics import MetricWrapperBase

from asoreconcile.observability.histogram import HistogramFamily

ReconcileResult = Literal["success", "error", "requeue", "requeue_after"]
FailureCount = Literal["errors", "terminal_errors", "panics", "timeouts"]
_RESULTS: tuple[ReconcileResult, ...] = (
    "success",
    "error",
    "requeue",
    "requeue_after",
)
_LABELS = ("controller",)
_FAILURES: Mapping[FailureCount, tuple[str, str]] = {
    "errors": ("reconcile_errors_total", "Reconciles that failed, terminally or not"),
    "terminal_errors": (
        "terminal_reconcile_errors_total",
        "Reconciles that failed for good",
    ),
    "panics": (
        "reconcile_panics_total",
        "Reconciles that raised an unexpected exception",
    ),
    "timeouts": (
        "reconcile_timeouts_total",
        "Reconciles that outlived their deadline",
    ),
}
_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
    *(0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0),
    *(6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)


class ControllerMetrics:
    """The series of one controller. Safe from any thread.

    active, max_concurrent: gauges of the reconciles that run now, and of the limit.
    seconds: how long reconciles took.
    """

    def __init__(self, families: "ReconcileFamilies", name: str) -> None:
        self.active = families.active.labels(name)
        self.max_concurrent = families.max_concurrent.labels(name)
        self.seconds = families.seconds.of(name)
        # Every series from the start: a rate needs a zero before the first failure.
        self._counts: dict[ReconcileResult | FailureCount, Counter] = {
            **{result: families.total.labels(name, result) for result in _RESULTS},
            **{each: family.labels(name) for each, family in families.failures.items()},
        }

    def count(self, result: ReconcileResult, *failures: FailureCount) -> None:
        """Count one reconcile and its outcome."""
        for name in (result, *failures):
            self._counts[name].inc()


class ReconcileFamilies:
    """The metric families of all controllers. Safe from any thread."""

    def __init__(self, registry: CollectorRegistry) -> None:
        prefix = "controller_runtime"
        self.seconds = HistogramFamily(
            f"{prefix}_reconcile_time_seconds",
            "Time of one reconcile",
            _LABELS,
            buckets=_BUCKETS,
            registry=registry,
        )
        self.total = Counter(
            f"{prefix}_reconcile_total",
            "Reconciles by outcome",
            (*_LABELS, "result"),
            registry=registry,
        )
        self.failures = {
            failure: Counter(f"{prefix}_{name}", text, _LABELS, registry=registry)
            for failure, (name, text) in _FAILURES.items()
        }
        self.max_concurrent = Gauge(
            f"{prefix}_max_concurrent_reconciles",
            "Most reconciles at once",
            _LABELS,
            registry=registry,
        )
        self.active = Gauge(
            f"{prefix}_active_workers",
            "Reconciles running now",
            _LABELS,
            registry=registry,
        )

    def forget(self, name: str) -> None:
        """Drop all series of one controller."""
        self.seconds.forget(name)
        gone: list[tuple[MetricWrapperBase, tuple[str, ...]]] = [
            *((self.total, (name, result)) for result in _RESULTS),
            *((family, (name,)) for family in self.failures.values()),
            (self.max_concurrent, (name,)),
            (self.active, (name,)),
        ]
        for family, labels in gone:
            with suppress(KeyError):  # forgotten before
                family.remove(*labels)
