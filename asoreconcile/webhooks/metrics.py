"""The webhooks' metric families, by controller-runtime's names. Rules: WH-7, WH-8."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from asoreconcile.histogram import Histogram, HistogramFamily

# 1e-8 s times ten, twelve times.
_BUCKETS = tuple(10.0**exponent for exponent in range(-8, 4))
_ZEROS = {"200": 0, "500": 0}


class PathMetrics:
    """One path's part. Safe from any thread.

    broken: the number of unexpected exceptions.
    """

    __slots__ = ("_answers", "_in_flight", "_lock", "broken", "seconds")

    def __init__(self, seconds: Histogram, broken: Counter) -> None:
        self.seconds = seconds
        self.broken = broken
        self._in_flight = 0
        self._answers: dict[str, int] = {}
        self._lock = threading.Lock()

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Count a review in progress for the duration of the block."""
        with self._lock:
            self._in_flight += 1
        try:
            yield
        finally:
            with self._lock:
                self._in_flight -= 1

    def answered(self, status: int) -> None:
        """Count one answered review. status: the HTTP status."""
        code = str(status)
        with self._lock:
            self._answers[code] = self._answers.get(code, 0) + 1

    def read(self) -> tuple[int, Mapping[str, int]]:
        """The number of reviews in progress, and of answered ones by HTTP status."""
        with self._lock:
            # Present from the start: a rate needs a zero before the first failure.
            return self._in_flight, {**_ZEROS, **self._answers}


class _PathFamilies(Collector):
    """The series of all paths. With every kind installed there are hundreds, and three
    series of `prometheus_client` for each are 2.3 KB of zeros.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._paths: dict[str, PathMetrics] = {}
        registry.register(self)

    def of(self, path: str, make: Callable[[], PathMetrics]) -> PathMetrics:
        """The part of a path; the same one each time."""
        known = self._paths.get(path)
        return known or self._paths.setdefault(path, make())

    def collect(self) -> Iterator[Metric]:
        """The families as they are now; called at each scrape."""
        requests, in_flight = _families()
        for path, part in list(self._paths.items()):
            running, answers = part.read()
            for code, count in answers.items():
                requests.add_metric((path, code), count)
            in_flight.add_metric((path,), running)
        yield from (requests, in_flight)

    def describe(self) -> list[Metric]:
        """The families without series, for the registry's check of duplicate names."""
        return [*_families()]


def _families() -> tuple[CounterMetricFamily, GaugeMetricFamily]:
    return (
        CounterMetricFamily(
            "controller_runtime_webhook_requests_total",
            "Answered requests by HTTP status",
            labels=("webhook", "code"),
        ),
        GaugeMetricFamily(
            "controller_runtime_webhook_requests_in_flight",
            "Requests being answered",
            labels=("webhook",),
        ),
    )


class WebhookMetrics:
    """Webhook metric families on one registry; create one per process. Thread-safe."""

    def __init__(self, registry: CollectorRegistry) -> None:
        # Of our own: with every kind installed a path each is 5 MB of empty buckets.
        self._seconds = HistogramFamily(
            "controller_runtime_webhook_latency_seconds",
            "Time to answer a review",
            ("webhook",),
            buckets=_BUCKETS,
            registry=registry,
        )
        self._paths = _PathFamilies(registry)
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

        self._certificate_end = Gauge(
            "asoreconcile_webhook_certificate_expiry_timestamp_seconds",
            "When the certificate that is shown ends; 0 before there is one",
            registry=registry,
        )

    def shows(self, certificate: bytes) -> None:
        """Record the current serving certificate: PEM, the leaf first."""
        # Imported here: it is slow to load, and few processes serve a certificate.
        from cryptography import x509

        end = x509.load_pem_x509_certificate(certificate).not_valid_after_utc
        self._certificate_end.set(end.timestamp())

    def path(self, path: str, *, converts: bool) -> PathMetrics:
        """The series of one path; all but the duration are present from the start."""
        broken = self._conversion_panics if converts else self._panics
        return self._part(path, broken)

    def answered(self, path: str, status: int) -> None:
        """Count one answered review. status: the HTTP status."""
        self._part(path, self._panics).answered(status)

    def _part(self, path: str, broken: Counter) -> PathMetrics:
        return self._paths.of(path, lambda: PathMetrics(self._seconds.of(path), broken))
