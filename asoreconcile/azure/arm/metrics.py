"""Metrics of ARM requests: ASO's three families under ASO's names, and two of our own.

Each request that was sent is counted once, in the calling thread. URLs that are not ARM
ids are not counted.
"""

import copy
from collections.abc import Callable
from typing import Self

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from asoreconcile.azure.arm.bucket_key import Bucket
from asoreconcile.azure.arm.ids import ArmIdError, parse
from asoreconcile.base.lru import lru_cached

_LABELS = ("resource", "requestType")


class ArmMetrics:
    """The metric families in one registry; create one per process. Thread-safe."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._label: Callable[[str], str] = resource_type
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

    def labelled(self, label: Callable[[str], str]) -> Self:
        """Return the same families for requests of another service. label: returns the
        type of a URL's path; requests of the type "" are not counted.
        """
        labelled = copy.copy(self)
        labelled._label = label  # noqa: SLF001 - a copy of this object
        return labelled

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a response of any status, and its duration. path: the URL's path."""
        if resource := self._label(path):
            self._successful.labels(resource, method, str(status)).inc()
            self._seconds.labels(resource, method).observe(seconds)

    def unanswered(self, method: str, path: str, seconds: float) -> None:
        """Count a request without a response: refused, reset, timed out."""
        if resource := self._label(path):
            self._failed.labels(resource, method).inc()
            self._seconds.labels(resource, method).observe(seconds)

    def troubled(self, path: str) -> None:
        """Count a status that could not be read (L15). path: the path of the monitor's
        URL.
        """
        resource = resource_type(path)
        if resource:
            self._troubled.labels(resource).inc()

    def remaining(self, bucket: Bucket, limit: str, remaining: float) -> None:
        """Record a reading of a rate limit (T3); pass this method to `Budget` as its
        gauge.
        """
        self._remaining.labels(bucket.subscription, limit).set(remaining)


@lru_cached
def resource_type(path: str) -> str:
    """Return the ARM type in a URL path, for a monitor the type of its operations; else
    "".
    """
    try:
        return parse(path).type
    except ArmIdError:
        return ""
