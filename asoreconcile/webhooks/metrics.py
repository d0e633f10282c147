"""The webhooks' metric families, by controller-runtime's names. Rules: WH-7, WH-8."""

import attrs
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
    *(0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0),
    *(6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)


@attrs.frozen
class PathMetrics:
    """One path's part. broken: functions that raised what nobody expects."""

    seconds: Histogram
    in_flight: Gauge
    broken: Counter


class WebhookMetrics:
    """Families on one registry; make one a process. Thread-safe."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._seconds = Histogram(
            "controller_runtime_webhook_latency_seconds",
            "Time to answer a review",
            ("webhook",),
            buckets=_BUCKETS,
            registry=registry,
        )
        self._requests = Counter(
            "controller_runtime_webhook_requests_total",
            "Answered requests by HTTP status",
            ("webhook", "code"),
            registry=registry,
        )
        self._in_flight = Gauge(
            "controller_runtime_webhook_requests_in_flight",
            "Requests being answered",
            ("webhook",),
            registry=registry,
        )
        self._panics = Counter(
            "controller_runtime_webhook_panics_total",
            "Admissions that raised what nobody expects",
            registry=registry,
        )
        self._conversion_panics = Counter(
            "controller_runtime_conversion_webhook_panics_total",
            "Conversions that raised what nobody expects",
            registry=registry,
        )
        self.certificate_reads = Counter(
            "certwatcher_read_certificate_total",
            "Reads of the serving certificate's files",
            registry=registry,
        )
        self.certificate_errors = Counter(
            "certwatcher_read_certificate_errors_total",
            "Reads of the serving certificate's files that failed",
            registry=registry,
        )

    def path(self, path: str, *, converts: bool) -> PathMetrics:
        """The series of one path, zero-initialised."""
        self._requests.labels(path, "200")
        return PathMetrics(
            seconds=self._seconds.labels(path),
            in_flight=self._in_flight.labels(path),
            broken=self._conversion_panics if converts else self._panics,
        )

    def answered(self, path: str, status: int) -> None:
        self._requests.labels(path, str(status)).inc()
