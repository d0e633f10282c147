"""A gauge with a value for each of some kinds, computed when scraped."""

from collections.abc import Callable, Iterator, Mapping

import attrs
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


@attrs.frozen
class KindGauge(Collector):
    """A gauge. values: returns the present value of each kind that has one, by the
    values of the labels.
    """

    name: str
    text: str
    values: Callable[[], Mapping[tuple[str, ...], float]]
    labels: tuple[str, ...] = ("kind",)

    def collect(self) -> Iterator[Metric]:
        """Return the family as it is now; called at each scrape."""
        family = GaugeMetricFamily(self.name, self.text, labels=self.labels)
        for labels, value in self.values().items():
            family.add_metric(labels, value)
        yield family

    def describe(self) -> list[Metric]:
        """Return no families, so that registering the collector does not compute
        them.
        """
        return []
