"""Metrics of kinds that do not run as they should, computed when scraped."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import attrs
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from asoreconcile.azure.controllers.handover import HandOver
from asoreconcile.base.objects import GroupKind


@attrs.frozen
class FailedKindMetrics(Collector):
    """failed: kinds that could not be started (`CrdWatcher.failed`)."""

    failed: Callable[[], Mapping[GroupKind, str]]

    def collect(self) -> Iterator[Metric]:
        """The family as it is now; the registry calls it at each scrape."""
        family = GaugeMetricFamily(
            "asoreconcile_kind_failed",
            "1 for a kind that is served and could not be started",
            labels=("kind",),
        )
        for group_kind in self.failed():
            family.add_metric((str(group_kind),), 1)
        yield family

    def describe(self) -> list[Metric]:
        """Nothing to compare: without this, registering would scrape."""
        return []


@attrs.frozen
class HandOverMetrics(Collector):
    """handovers: kinds that wait for a last reconcile (`Lifecycle.handovers`)."""

    handovers: Callable[[], Sequence[HandOver]]

    def collect(self) -> Iterator[Metric]:
        """The family as it is now; the registry calls it at each scrape."""
        family = GaugeMetricFamily(
            "asoreconcile_kind_handover_seconds",
            "How long a kind waits for the last reconcile of its former version",
            labels=("kind",),
        )
        seconds: dict[str, float] = {}
        for one in self.handovers():
            kind = str(one.group_kind)
            seconds[kind] = max(one.seconds, seconds.get(kind, 0.0))
        for kind, longest in seconds.items():
            family.add_metric((kind,), longest)
        yield family

    def describe(self) -> list[Metric]:
        """Nothing to compare: without this, registering would scrape."""
        return []
