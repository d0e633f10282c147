"""Count the objects that are not Ready, and for how long, when scraped.

By kind and severity, never by object: a cluster has thousands, and `kubectl get` lists
them. A cache's index finds them, so that a scrape parses no others.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime

import attrs
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from asoreconcile.azure.controllers.kind_registry import RunningKind
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import GroupKind, JsonObject, dig
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.informer import Informer

_INDEX = "not-ready"
_PENDING = "Pending"
_SEVERITIES = ("Error", "Warning", "Info", _PENDING)
# With more objects the oldest may be missed; their number matters more then.
_MAX_DECODED = 1000


def index_not_ready(informer: Informer) -> None:
    """Add an index of objects that are not Ready, by severity, to a kind's cache."""

    def values(entry: Entry) -> Iterable[str]:
        severity = _severity(entry.shared_view())
        return (severity,) if severity else ()

    informer.add_index(_INDEX, values)


@attrs.frozen
class ReadyMetrics(Collector):
    """The metrics. running: returns the running kinds (`KindRegistry.running`)."""

    running: Callable[[], Mapping[GroupKind, RunningKind]]
    clock: Clock

    def collect(self) -> Iterator[Metric]:
        """Yield both families as they are now; called at each scrape, on the endpoint's
        thread.

        Counts come from the index; for ages at most `_MAX_DECODED` objects of a kind
        and severity are parsed, so that a scrape stays cheap if everything fails.
        """
        labels = ("kind", "severity")
        count = GaugeMetricFamily(
            "asoreconcile_objects_not_ready",
            "Objects whose Ready condition is not True; Pending have none yet",
            labels=labels,
        )
        longest = GaugeMetricFamily(
            "asoreconcile_not_ready_seconds",
            "The longest time for which one of them has not been Ready",
            labels=labels,
        )
        now = self.clock.now()
        for group_kind, kind in self.running().items():
            for severity in _SEVERITIES:
                found = len(kind.informer.by_index(_INDEX, severity))
                if not found:
                    continue
                objs = kind.informer.list(index=(_INDEX, severity), limit=_MAX_DECODED)
                oldest = min((_since(obj, now) for obj in objs), default=now)
                named = (str(group_kind), severity)
                count.add_metric(named, found)
                longest.add_metric(named, max(0.0, (now - oldest).total_seconds()))
        yield from (count, longest)

    def describe(self) -> list[Metric]:
        """Return no families, so that registering the collector does not compute
        them.
        """
        return []


def _severity(obj: JsonObject) -> str:
    """Return the severity of an object that is not Ready; "" if it is Ready."""
    ready = _ready(obj)
    if not ready:
        return _PENDING
    if ready.get("status") == "True":
        return ""
    severity = ready.get("severity")
    return severity if severity in _SEVERITIES else "Info"


def _since(obj: JsonObject, now: datetime) -> datetime:
    """Return the time of the condition's last transition; `now` if unknown."""
    said = _ready(obj).get("lastTransitionTime") or dig(
        obj, "metadata.creationTimestamp"
    )
    try:
        since = datetime.fromisoformat(said)
    except (TypeError, ValueError):
        return now
    return since if since.tzinfo else since.replace(tzinfo=UTC)


def _ready(obj: JsonObject) -> JsonObject:
    """Return the Ready condition; {} without a valid one."""
    conditions = dig(obj, "status.conditions")
    if not isinstance(conditions, list):
        return {}
    return find_ready([one for one in conditions if isinstance(one, dict)]) or {}
