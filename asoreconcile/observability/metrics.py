"""The runtime's metric families, by controller-runtime's and client-go's names.

`RuntimeMetrics` holds every family on one registry; create one per process. Series
appear when a queue, controller or informer requests its part (`queue`, `controller`,
`informer`). Depth, ages and sync states are read by callbacks at each scrape, so they
are never stale.

Thread-safe.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from functools import partial

import attrs
from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from asoreconcile.base.threads import Threads
from asoreconcile.observability.histogram import Histogram, HistogramFamily
from asoreconcile.observability.reconcile_metrics import (
    ControllerMetrics,
    ReconcileFamilies,
)

_QUEUE_LABELS = ("name", "controller")
# 1e-8 s times ten, twelve times.
_QUEUE_BUCKETS = tuple(10.0**exponent for exponent in range(-8, 4))
# client-go's.
_REQUEST_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)


# Series for the namespaces above their share: the busiest ones say what goes on.
_MOST_NAMESPACES = 20

_InformerState = tuple[
    Callable[[], bool], Callable[[], float | None], Callable[[], int]
]


@attrs.frozen
class QueueSnapshot:
    """A queue's numbers at one moment.

    depth: ready keys by priority label. adds, retries: totals since the queue was made.
    unfinished_seconds, longest_seconds: sum and maximum of the ages of the keys being
    processed.
    """

    depth: Mapping[str, int]
    adds: int
    retries: int
    unfinished_seconds: float
    longest_seconds: float


@attrs.frozen
class QueueMetrics:
    """The series of one queue."""

    queue_seconds: Histogram
    work_seconds: Histogram
    expose: Callable[[Callable[[], QueueSnapshot]], None]
    """Set the function that each scrape calls."""


class RuntimeMetrics:
    """The runtime's metric families on one registry.

    Thread-safe; create one per process.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._queue_seconds = HistogramFamily(
            "workqueue_queue_duration_seconds",
            "How long a key stays in the queue before it is taken",
            _QUEUE_LABELS,
            buckets=_QUEUE_BUCKETS,
            registry=registry,
        )
        self._work_seconds = HistogramFamily(
            "workqueue_work_duration_seconds",
            "How long processing a key takes",
            _QUEUE_LABELS,
            buckets=_QUEUE_BUCKETS,
            registry=registry,
        )
        self._requests = Counter(
            "rest_client_requests_total",
            "Requests to the Kubernetes API by status code, method and host",
            ("code", "method", "host"),
            registry=registry,
        )
        self._request_seconds = HistogramFamily(
            "rest_client_request_duration_seconds",
            "How long a request to the Kubernetes API takes, by verb and host",
            ("verb", "host"),
            buckets=_REQUEST_BUCKETS,
            registry=registry,
        )
        self._by_request: dict[tuple[str, str, str], tuple[Histogram, Counter]] = {}
        self._leader = Gauge(
            "leader_election_master_status",
            "1 while this process holds the lease",
            ("name",),
            registry=registry,
        )
        self._held = Counter(
            "asoreconcile_process_held_total",
            "Times that a reconcile kept all other threads from running for 2 s",
            ("controller",),
            registry=registry,
        )
        self._held_seconds = Counter(
            "asoreconcile_process_held_seconds_total",
            "Seconds for which reconciles kept all other threads from running",
            ("controller",),
            registry=registry,
        )
        self._controllers = ReconcileFamilies(registry)
        self._queues: dict[str, Callable[[], QueueSnapshot]] = {}
        self._informers: dict[str, _InformerState] = {}
        self._show(partial(_queue_metrics, self._queues))
        self._show(partial(_informer_metrics, self._informers))

    def queue(self, name: str) -> QueueMetrics:
        """Return the series of the queue of the controller `name`."""
        return QueueMetrics(
            queue_seconds=self._queue_seconds.of(name, name),
            work_seconds=self._work_seconds.of(name, name),
            expose=partial(self._queues.__setitem__, name),
        )

    def controller(self, name: str) -> ControllerMetrics:
        """Return the series of one controller, zero-initialised."""
        self._held.labels(name)
        return ControllerMetrics(self._controllers, name)

    def leader(self, name: str) -> Gauge:
        """Return the series of one lease. Rule: LE-9."""
        return self._leader.labels(name)

    def held(self, controller: str, seconds: float) -> None:
        """Count one time that a reconcile of a controller held the process."""
        self._held.labels(controller).inc()
        self._held_seconds.labels(controller).inc(seconds)

    def kube_request(self, code: str, method: str, host: str, seconds: float) -> None:
        """Count one request to the Kubernetes API.

        code: the status, or `<error>` without a response. method: GET also for a LIST.
        seconds: time until the response; for a watch, until it began.
        """
        series = self._by_request.get((code, method, host))
        if series is None:
            # Cached: a lookup by labels takes longer than counting.
            series = self._by_request[code, method, host] = (
                self._request_seconds.of(method, host),
                self._requests.labels(code, method, host),
            )
        time, count = series
        time.observe(seconds)
        count.inc()

    def informer(
        self,
        kind: str,
        *,
        has_synced: Callable[[], bool],
        idle_seconds: Callable[[], float | None],
        unreadable: Callable[[], int] = lambda: 0,
    ) -> None:
        """Show an informer: whether it has synced, the seconds since its watch last
        delivered an event or bookmark (None: never), and how many objects it left out
        as unreadable.
        """
        self._informers[kind] = (has_synced, idle_seconds, unreadable)

    def threads(self, threads: Threads) -> None:
        """Show how many long-lived threads have died, and how many are dead now. Call
        once per registry.
        """
        self._show(partial(_thread_metrics, threads))

    def worker_shares(self, above: Callable[[], Mapping[Hashable, float]]) -> None:
        """Show the namespaces that are above their share of the workers. Call once per
        registry.

        above: returns their recent seconds of worker time.
        """
        self._show(partial(_share_metrics, above))

    def expose_server_probe(
        self, seconds_since_answer: Callable[[], float], renewed: Callable[[], int]
    ) -> None:
        """Show how long ago the API server last answered, and how many watches were
        reopened because it did not. Call once per registry.
        """
        self._show(partial(_probe_metrics, seconds_since_answer, renewed))

    def forget(self, name: str) -> None:
        """Drop the scrape callbacks of a queue or informer that no longer exists."""
        self._queues.pop(name, None)
        self._informers.pop(name, None)

    def forget_controller(self, name: str) -> None:
        """Drop all series of a controller that no longer exists, and of its queue."""
        self._queues.pop(name, None)
        self._queue_seconds.forget(name, name)
        self._work_seconds.forget(name, name)
        self._controllers.forget(name)
        for family in (self._held, self._held_seconds):
            with suppress(KeyError):
                family.remove(name)

    def forget_host(self, host: str) -> None:
        """Drop all series of an API server that is not used any more."""
        for code, method, of in list(self._by_request):
            if of == host:
                del self._by_request[code, method, of]
                self._request_seconds.forget(method, host)
                self._requests.remove(code, method, host)

    def _show(self, metrics: Callable[[], Iterable[Metric]]) -> None:
        self.registry.register(_Scraped(metrics))


class _Scraped(Collector):
    """Calls a function for the metrics when scraped."""

    def __init__(self, collect: Callable[[], Iterable[Metric]]) -> None:
        self._collect = collect

    def collect(self) -> Iterable[Metric]:
        return self._collect()

    def describe(self) -> list[Metric]:
        """Return no families, so that registering the collector does not call the
        function.
        """
        return []


def _queue_metrics(queues: Mapping[str, Callable[[], QueueSnapshot]]) -> list[Metric]:
    depth = GaugeMetricFamily(
        "workqueue_depth",
        "Keys ready to be taken",
        labels=(*_QUEUE_LABELS, "priority"),
    )
    adds = CounterMetricFamily(
        "workqueue_adds_total", "Keys that became ready", labels=_QUEUE_LABELS
    )
    retries = CounterMetricFamily(
        "workqueue_retries_total", "Adds with a delay", labels=_QUEUE_LABELS
    )
    unfinished = GaugeMetricFamily(
        "workqueue_unfinished_work_seconds",
        "Sum of the ages of the keys being processed",
        labels=_QUEUE_LABELS,
    )
    longest = GaugeMetricFamily(
        "workqueue_longest_running_processor_seconds",
        "Age of the key being processed for longest",
        labels=_QUEUE_LABELS,
    )
    for name, read in list(queues.items()):
        now = read()
        labels = (name, name)
        for priority, count in now.depth.items():
            depth.add_metric((*labels, priority), count)
        adds.add_metric(labels, now.adds)
        retries.add_metric(labels, now.retries)
        unfinished.add_metric(labels, now.unfinished_seconds)
        longest.add_metric(labels, now.longest_seconds)
    return [depth, adds, retries, unfinished, longest]


def _informer_metrics(informers: Mapping[str, _InformerState]) -> list[Metric]:
    synced = GaugeMetricFamily(
        "informer_synced",
        "1 once the cache holds the kind's first list",
        labels=("kind",),
    )
    idle = GaugeMetricFamily(
        "informer_seconds_since_watch_activity",
        "Seconds since the kind's watch delivered anything, bookmarks included",
        labels=("kind",),
    )
    unread = GaugeMetricFamily(
        "informer_unreadable_objects",
        "Objects of the kind that the cache cannot read, and leaves out",
        labels=("kind",),
    )
    for kind, (has_synced, idle_seconds, unreadable) in list(informers.items()):
        synced.add_metric((kind,), float(has_synced()))
        unread.add_metric((kind,), unreadable())
        seconds = idle_seconds()
        if seconds is not None:
            idle.add_metric((kind,), seconds)
    return [synced, idle, unread]


def _thread_metrics(threads: Threads) -> list[Metric]:
    crashes = CounterMetricFamily(
        "asoreconcile_thread_deaths",
        "Times that a long-lived thread died of an exception",
        labels=("thread",),
    )
    for name, crash in sorted(threads.crashes().items()):
        crashes.add_metric((name,), crash.count)
    down = GaugeMetricFamily(
        "asoreconcile_threads_down",
        "Long-lived threads that are dead now, until they are started again",
        value=len(threads.down()),
    )
    return [crashes, down]


def _share_metrics(
    above: Callable[[], Mapping[Hashable, float]],
) -> list[Metric]:
    seconds = GaugeMetricFamily(
        "asoreconcile_worker_share_seconds",
        "Worker time that a namespace above its share used lately, halved each minute",
        labels=("object_namespace",),
    )
    busiest = sorted(above().items(), key=lambda one: one[1], reverse=True)
    for namespace, used in busiest[:_MOST_NAMESPACES]:
        seconds.add_metric((str(namespace),), used)
    return [seconds]


def _probe_metrics(
    seconds_since_answer: Callable[[], float], renewed: Callable[[], int]
) -> list[Metric]:
    silent = GaugeMetricFamily(
        "asoreconcile_api_server_silent_seconds",
        "Seconds since the API server last answered a probe; asked every 15 s",
        value=seconds_since_answer(),
    )
    watches = CounterMetricFamily(
        "asoreconcile_watches_renewed",
        "Watches opened again after the API server had been silent",
        value=renewed(),
    )
    return [silent, watches]
