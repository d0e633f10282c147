"""Duration histograms, cheap enough to observe every key of every queue.

`prometheus_client.Histogram` tries its buckets one by one and takes two locks per
duration, three times the cost of this one, and keeps about forty objects per series;
with every kind installed there are hundreds of series. The scraped output is the same.
"""

import threading
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString


class Histogram:
    """One series, shown after its first duration. Safe from any thread."""

    __slots__ = ("_bounds", "_counts", "_lock", "_sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts: list[int] = []
        self._sum = 0.0
        self._lock = threading.Lock()

    def observe(self, seconds: float) -> None:
        """Count one duration, in seconds. Safe from any thread."""
        place = bisect_left(self._bounds, seconds)
        with self._lock:
            if not self._counts:
                self._counts = [0] * (len(self._bounds) + 1)
            self._counts[place] += 1
            self._sum += seconds

    def read(self) -> tuple[list[int], float]:
        """Return the counts of each bucket and of +Inf, and the sum of seconds.

        There are no counts before the first duration.
        """
        with self._lock:
            return self._counts.copy(), self._sum


class HistogramFamily(Collector):
    """The series of one metric. Safe from any thread."""

    def __init__(
        self,
        name: str,
        text: str,
        labels: Sequence[str],
        *,
        buckets: Sequence[float],
        registry: CollectorRegistry,
    ) -> None:
        """buckets: their upper bounds in seconds, ascending, without infinity."""
        self._name = name
        self._text = text
        self._labels = labels
        self._bounds = buckets
        self._names = [*map(floatToGoString, buckets), "+Inf"]
        self._series: dict[tuple[str, ...], Histogram] = {}
        registry.register(self)

    def of(self, *values: str) -> Histogram:
        """Return the series of these label values; the same one each time."""
        series = self._series.get(values)
        if series is None:
            # Another thread may have been first.
            series = self._series.setdefault(values, Histogram(self._bounds))
        return series

    def forget(self, *values: str) -> None:
        """Drop the series of these label values. Does nothing if there is none."""
        self._series.pop(values, None)

    def collect(self) -> Iterator[Metric]:
        """Yield the family with every series that has observations; called at each
        scrape.
        """
        family = self._family()
        for values, series in list(self._series.items()):
            counts, total = series.read()
            if counts:
                pairs = list(zip(self._names, accumulate(counts), strict=True))
                family.add_metric(values, pairs, total)
        yield family

    def describe(self) -> list[Metric]:
        """Return the family without series, for the registry's check of duplicate
        names.
        """
        return [self._family()]

    def _family(self) -> HistogramMetricFamily:
        return HistogramMetricFamily(self._name, self._text, labels=self._labels)
