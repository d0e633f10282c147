"""ARM request metrics: ASO's three families by ASO's names, and two of our own.

Each sent request is counted once, in the calling thread. URLs that are not ARM ids are
not counted.
"""

from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from asoreconcile.azure.arm.bucket_key import Bucket
from asoreconcile.azure.arm.ids import ArmIdError, parse
from asoreconcile.base.recent import recent

_LABELS = ("resource", "requestType")


class AzureRequestMetrics(Protocol):
    """Counts requests; path: the URL's path."""

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count an answer of any status, and how long it took."""

    def unanswered(self, method: str, path: str, seconds: float) -> None:
        """Count a request that got no answer, and how long that took."""


class ArmMetrics:
    """Families on one registry; make one a process. Thread-safe."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._successful = Counter(
            "azure_successful_requests",
            "Requests to Azure that got an answer, of any status",
            (*_LABELS, "responseCode"),
            registry=registry,
        )
        self._failed = Counter(
            "azure_failed_requests",
            "Requests to Azure that got no answer",
            _LABELS,
            registry=registry,
        )
        self._seconds = Histogram(
            "azure_requests_time_seconds",
            "Time of a request to Azure, fetching the token included",
            _LABELS,
            registry=registry,
        )
        self._troubled = Counter(
            "asoreconcile_azure_status_read_troubles",
            "Reads of an operation's status that told nothing about the operation",
            ("resource",),
            registry=registry,
        )
        self._remaining = Gauge(
            "asoreconcile_azure_rate_limit_remaining",
            "Requests that Azure said it would still take, by its own limit's name",
            ("subscription", "limit"),
            registry=registry,
        )

        self._answered: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._by_limit: dict[tuple[str, str], Gauge] = {}

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """An answer of any status; path: the URL's path."""
        resource = resource_type(path)
        if resource:
            self.count_answer(resource, method, status, seconds)

    def count_answer(
        self, resource: str, method: str, status: int, seconds: float
    ) -> None:
        """As `answered`. resource: the type, as the label has it."""
        answered = (resource, method, status)
        series = self._answered.get(answered)
        if series is None:
            # Cached: the lookup by labels takes longer than counting.
            series = self._answered[answered] = (
                self._successful.labels(resource, method, str(status)),
                self._seconds.labels(resource, method),
            )
        count, time = series
        count.inc()
        time.observe(seconds)

    def unanswered(self, method: str, path: str, seconds: float) -> None:
        """Count a request without an answer: refused, reset, timed out."""
        resource = resource_type(path)
        if resource:
            self.count_failure(resource, method, seconds)

    def count_failure(self, resource: str, method: str, seconds: float) -> None:
        """As `unanswered`. resource: the type, as the label has it."""
        self._failed.labels(resource, method).inc()
        self._seconds.labels(resource, method).observe(seconds)

    def troubled(self, path: str) -> None:
        """Count a poll without a readable status (L15); path: the monitor URL's
        path.
        """
        resource = resource_type(path)
        if resource:
            self._troubled.labels(resource).inc()

    def remaining(self, bucket: Bucket, limit: str, remaining: float) -> None:
        """A reading of a rate limit (T3); give this method to `Budget` as its gauge."""
        named = (bucket.subscription, limit)
        series = self._by_limit.get(named)
        if series is None:
            series = self._by_limit[named] = self._remaining.labels(*named)
        series.set(remaining)


@recent
def resource_type(path: str) -> str:
    """The ARM type in a URL path; of a monitor, the type of its operations; else ""."""
    try:
        return parse(path).type
    except ArmIdError:
        return ""
