"""What is told of objects that are not Ready: how many, and since when."""

from datetime import UTC, datetime, timedelta

import pytest

from asoreconcile.azure.controllers.ready_metrics import ReadyMetrics, index_not_ready
from asoreconcile.base.objects import GroupKind
from asoreconcile.cache.entry import Entry
from asoreconcile.testing.clock import FakeClock

KIND = GroupKind("network.azure.com", "VirtualNetwork")


class Filed:
    """A running kind with its informer, as far as an index goes."""

    def __init__(self, *objs):
        self.informer = self
        self.entries = [Entry(obj) for obj in objs]
        index_not_ready(self)

    def add_index(self, _name, values):
        self.values = values

    def by_index(self, _name, value):
        return [one.key for one in self.entries if value in self.values(one)]

    def list(self, *, index, limit):
        found = [e.deep_copy() for e in self.entries if index[1] in self.values(e)]
        return found[:limit]


def network(name, whole=None, *, created=None, **condition):
    """whole: its status, in place of one with a Ready condition."""
    meta = {"name": name, "namespace": "ns", "creationTimestamp": created}
    if condition:
        whole = {"conditions": [{"type": "Ready", **condition}]}
    return {"metadata": meta, "status": whole}


def told(clock, *objs):
    metrics = ReadyMetrics(lambda: {KIND: Filed(*objs)}, clock)
    return {
        (family.name.removeprefix("asoreconcile_"), sample.labels["severity"]): (
            sample.value
        )
        for family in metrics.collect()
        for sample in family.samples
    }


def ago(clock, seconds):
    then = clock.now() - timedelta(seconds=seconds)
    return then.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def clock():
    return FakeClock(datetime(2030, 1, 1, tzinfo=UTC))


def test_the_count_and_the_oldest_of_each_severity(clock):
    def bad(name, severity, seconds):
        since = ago(clock, seconds)
        return network(
            name, status="False", severity=severity, lastTransitionTime=since
        )

    assert told(
        clock,
        network("good", status="True", lastTransitionTime=ago(clock, 9)),
        bad("one", "Error", 60),
        bad("two", "Error", 7200),
        bad("three", "Info", 5),
        network("new", created=ago(clock, 30)),
    ) == {
        ("objects_not_ready", "Error"): 2,
        ("objects_not_ready", "Info"): 1,
        ("objects_not_ready", "Pending"): 1,
        ("not_ready_seconds", "Error"): 7200,
        ("not_ready_seconds", "Info"): 5,
        ("not_ready_seconds", "Pending"): 30,
    }


@pytest.mark.parametrize(
    "status",
    [
        "text",
        {"conditions": "text"},
        {"conditions": ["text", None]},
        {"conditions": [{"type": "Ready", "status": "False", "severity": 3}]},
        {"conditions": [{"type": "Ready", "lastTransitionTime": "soon"}]},
        {
            "conditions": [
                {"type": "Ready", "lastTransitionTime": "2031-01-01T00:00:00"}
            ]
        },
    ],
)
def test_a_status_that_is_none_disturbs_no_scrape(clock, status):
    found = told(clock, network("odd", status))
    assert sorted(found.values()) == [0, 1]
