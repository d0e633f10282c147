"""The metrics at `/metrics`, with the names of a real server."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from asoreconcile.testing.http import HttpResponse
from asoreconcile.testing.kube.controls.journal import Served

_VERBS = {"create": "POST", "update": "PUT"}
_LABELS = ("verb", "group", "resource", "subresource", "code")


class Measures(Collector):
    """The counts of answers. Safe to scrape from any thread; only one
    thread may count.
    """

    def __init__(self, objects: Callable[[], Mapping[str, int]]) -> None:
        """Make the metrics.

        objects: returns the number of objects, by `plural.group`.
        """
        self._objects = objects
        self._answers: Counter[tuple[str, ...]] = Counter()
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def count(self, served: Served) -> None:
        """Add one answered request to `apiserver_request_total`."""
        resource, _, subresource = served.resource.partition("/")
        plural, _, group = resource.partition(".")
        verb = _VERBS.get(served.verb, served.verb.upper())
        code = str(served.status)
        self._answers[verb, group, plural, subresource, code] += 1

    def answer(self) -> HttpResponse:
        """Return the metrics as text."""
        text = generate_latest(self._registry)
        return HttpResponse(200, text, {"Content-Type": CONTENT_TYPE_LATEST})

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics. The registry calls this at each scrape."""
        requests = CounterMetricFamily(
            "apiserver_request",
            "Answered requests by verb, group, resource, subresource and status",
            labels=_LABELS,
        )
        for labels, count in self._answers.copy().items():
            requests.add_metric(labels, count)
        objects = GaugeMetricFamily(
            "apiserver_storage_objects",
            "Objects that are stored, by resource",
            labels=("resource",),
        )
        for resource, count in sorted(self._objects().items()):
            objects.add_metric((resource,), count)
        yield from (requests, objects)

    def describe(self) -> list[Metric]:
        """Return no metrics in advance, so that nothing is registered twice."""
        return []
