"""The webhooks' metric families, by controller-runtime's names. Rules: WH-7, WH-8."""

from prometheus_client import CollectorRegistry, Counter, Gauge

from asoreconcile.observability.histogram import HistogramFamily

# 1e-8 s times ten, twelve times.
_BUCKETS = tuple(10.0**exponent for exponent in range(-8, 4))


class PathMetrics:
    """The series of one path. Safe from any thread.

    broken: counts functions that raised an unexpected exception.
    """

    def __init__(self, families: "WebhookMetrics", path: str, broken: Counter) -> None:
        self.broken = broken
        self.in_flight = families.in_flight.labels(path)
        self._requests = families.requests
        self._seconds = families.seconds.of(path)
        self._path = path
        # From the start: a rate needs a zero before the first failure.
        for code in ("200", "500"):
            self._requests.labels(path, code)

    def answered(self, status: int, seconds: float) -> None:
        """Count an answered review. status: HTTP status. seconds: how long it took."""
        self._requests.labels(self._path, str(status)).inc()
        self._seconds.observe(seconds)


class WebhookMetrics:
    """Webhook metric families on one registry; create one per process. Thread-safe."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.seconds = HistogramFamily(
            "controller_runtime_webhook_latency_seconds",
            "Time to answer a review",
            ("webhook",),
            buckets=_BUCKETS,
            registry=registry,
        )
        self.requests = Counter(
            "controller_runtime_webhook_requests_total",
            "Answered requests by HTTP status",
            ("webhook", "code"),
            registry=registry,
        )
        self.in_flight = Gauge(
            "controller_runtime_webhook_requests_in_flight",
            "Requests being answered",
            ("webhook",),
            registry=registry,
        )
        self._panics = Counter(
            "controller_runtime_webhook_panics_total",
            "Admissions that raised an unexpected exception",
            registry=registry,
        )
        self._conversion_panics = Counter(
            "controller_runtime_conversion_webhook_panics_total",
            "Conversions that raised an unexpected exception",
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
        """Return the series of one path; all but the duration are present from
        the start.
        """
        broken = self._conversion_panics if converts else self._panics
        return PathMetrics(self, path, broken)
