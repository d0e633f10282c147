"""The webhooks' metric families, by controller-runtime's names. Rules: WH-7, WH-8."""

import attrs
from prometheus_client import CollectorRegistry, Counter, Gauge

from asoreconcile.histogram import Histogram, HistogramFamily

# 1e-8 s times ten, twelve times.
_BUCKETS = tuple(10.0**exponent for exponent in range(-8, 4))


@attrs.frozen
class PathMetrics:
    """One path's part. broken: functions that raised what nobody expects."""

    seconds: Histogram
    in_flight: Gauge
    broken: Counter


class WebhookMetrics:
    """Families on one registry; make one a process. Thread-safe."""

    def __init__(self, registry: CollectorRegistry) -> None:
        # Of our own: with every kind installed a path each is 5 MB of empty buckets.
        self._seconds = HistogramFamily(
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

        self._certificate_end = Gauge(
            "asoreconcile_webhook_certificate_expiry_timestamp_seconds",
            "When the certificate that is shown ends; 0 before there is one",
            registry=registry,
        )

    def shows(self, certificate: bytes) -> None:
        """A serving certificate is shown from now on: PEM, its own one first."""
        # Here: it takes long to load, and few processes show a certificate.
        from cryptography import x509

        end = x509.load_pem_x509_certificate(certificate).not_valid_after_utc
        self._certificate_end.set(end.timestamp())

    def path(self, path: str, *, converts: bool) -> PathMetrics:
        """The series of one path; all but the time are there from the start."""
        # There from the start: a rate needs a zero before its first failure.
        for status in ("200", "500"):
            self._requests.labels(path, status)
        return PathMetrics(
            seconds=self._seconds.of(path),
            in_flight=self._in_flight.labels(path),
            broken=self._conversion_panics if converts else self._panics,
        )

    def answered(self, path: str, status: int) -> None:
        """Count one answered review. status: the HTTP status."""
        self._requests.labels(path, str(status)).inc()
