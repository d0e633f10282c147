"""The reconcile metrics of controllers, with controller-runtime's names.

A `prometheus_client` series takes about nine objects and 0.7 KB, and each controller
has ten; with every kind installed that is 2 MB of zeros. Here a controller is one
object, and the scraped output is the same: every series but the time is shown from the
start.
"""

import threading
from collections.abc import Iterator, Mapping
from typing import Literal

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from asoreconcile.histogram import Histogram, HistogramFamily

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
        "Reconciles that raised what nobody expects",
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
    """One controller's part. Safe from any thread."""

    __slots__ = ("_active", "_counts", "_lock", "max_concurrent", "seconds")

    def __init__(self, seconds: Histogram) -> None:
        self.seconds = seconds
        self.max_concurrent = 0
        self._active = 0
        self._counts: dict[ReconcileResult | FailureCount, int] = {}
        self._lock = threading.Lock()

    def begin(self) -> None:
        """A reconcile starts."""
        with self._lock:
            self._active += 1

    def end(self) -> None:
        """A reconcile has ended."""
        with self._lock:
            self._active -= 1

    def count(self, result: ReconcileResult, *failures: FailureCount) -> None:
        """Count one reconcile by its outcome."""
        with self._lock:
            for name in (result, *failures):
                self._counts[name] = self._counts.get(name, 0) + 1

    def read(self) -> tuple[int, Mapping[ReconcileResult | FailureCount, int]]:
        """The running reconciles, and the count of each outcome."""
        with self._lock:
            return self._active, self._counts.copy()


class ReconcileFamilies(Collector):
    """The series of all controllers. Safe from any thread."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._seconds = HistogramFamily(
            "controller_runtime_reconcile_time_seconds",
            "Time of one reconcile",
            _LABELS,
            buckets=_BUCKETS,
            registry=registry,
        )
        self._controllers: dict[str, ControllerMetrics] = {}
        registry.register(self)

    def of(self, name: str) -> ControllerMetrics:
        """The part of a controller; the same one each time."""
        made = ControllerMetrics(self._seconds.of(name))
        return self._controllers.setdefault(name, made)

    def collect(self) -> Iterator[Metric]:
        """All families as they are now; called at each scrape."""
        total, failures, most, active = _families()
        for name, controller in list(self._controllers.items()):
            running, counts = controller.read()
            for result in _RESULTS:
                total.add_metric((name, result), counts.get(result, 0))
            for failure, family in failures.items():
                family.add_metric((name,), counts.get(failure, 0))
            most.add_metric((name,), controller.max_concurrent)
            active.add_metric((name,), running)
        yield from (total, *failures.values(), most, active)

    def describe(self) -> list[Metric]:
        """The families without series, for the registry's check of duplicate names."""
        total, failures, most, active = _families()
        return [total, *failures.values(), most, active]


def _families() -> tuple[
    CounterMetricFamily,
    dict[FailureCount, CounterMetricFamily],
    GaugeMetricFamily,
    GaugeMetricFamily,
]:
    prefix = "controller_runtime"
    return (
        CounterMetricFamily(
            f"{prefix}_reconcile_total",
            "Reconciles by outcome",
            labels=(*_LABELS, "result"),
        ),
        {
            failure: CounterMetricFamily(f"{prefix}_{name}", text, labels=_LABELS)
            for failure, (name, text) in _FAILURES.items()
        },
        GaugeMetricFamily(
            f"{prefix}_max_concurrent_reconciles",
            "Most reconciles at once",
            labels=_LABELS,
        ),
        GaugeMetricFamily(
            f"{prefix}_active_workers", "Reconciles running now", labels=_LABELS
        ),
    )
