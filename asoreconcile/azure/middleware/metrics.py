"""Metrics of extensions: number of runs, outcomes and durations."""

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram

if TYPE_CHECKING:
    from asoreconcile.azure.middleware.extension_set import Extension

_LABELS = ("point", "group", "kind", "extension")
# Most links only look at a dict; those that ask ARM take as long as a request.
_BUCKETS_SECONDS = (0.0001, 0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 30.0)


class ExtensionMetrics:
    """Counts and times the runs of links, as Prometheus families. Thread-safe.

    The label `extension` is `<set>/<function>`; outcomes are `ok`, `proceed`, `block`,
    `postpone`, `ready`, `not-ready`, `deleted`, `in-progress`, `pending` and `error`.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._runs = Counter(
            "asoreconcile_extension_runs",
            "Runs of extensions by how they ended",
            (*_LABELS, "outcome"),
            registry=registry,
        )
        self._seconds = Histogram(
            "asoreconcile_extension_duration_seconds",
            "Seconds spent in an extension itself, without those it wraps",
            _LABELS,
            buckets=_BUCKETS_SECONDS,
            registry=registry,
        )

    def observe(
        self, link: "Extension", set_name: str, /, *, outcome: str, seconds: float
    ) -> None:
        """Count one run of an extension. seconds: duration without that of the inner
        links.
        """
        labels = (
            link.point.name,
            link.kind.group,
            link.kind.kind,
            f"{set_name}/{link.name}",
        )
        self._runs.labels(*labels, outcome).inc()
        self._seconds.labels(*labels).observe(seconds)
