"""Histograms of durations: what a scrape reads of them."""

import threading

import pytest
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from asoreconcile.observability.histogram import HistogramFamily

BUCKETS = (0.001, 0.5, 10.0)


@pytest.fixture
def family(registry):
    return HistogramFamily(
        "took_seconds", "How long", ("name",), buckets=BUCKETS, registry=registry
    )


def test_a_scrape_reads_what_prometheus_clients_histogram_would_show(registry, family):
    other = CollectorRegistry()
    theirs = Histogram(
        "took_seconds", "How long", ("name",), buckets=BUCKETS, registry=other
    )
    for name in ("a", "b"):
        for seconds in (0.0, 0.001, 0.0011, 0.5, 3, 10.0, 11.0, 0.25):
            family.of(name).observe(seconds)
            theirs.labels(name).observe(seconds)
    wanted = generate_latest(other).decode().splitlines()
    shown = generate_latest(registry).decode().splitlines()
    assert shown == [line for line in wanted if "_created" not in line]


def test_one_series_of_the_same_labels(family):
    assert family.of("a") is family.of("a")
    assert family.of("a") is not family.of("b")


def test_a_second_metric_of_the_name_is_refused(registry, family):
    assert family
    with pytest.raises(ValueError, match="took_seconds"):
        Histogram("took_seconds", "Again", registry=registry)


def test_no_duration_is_lost_between_threads(family):
    durations = family.of("a")

    def observe():
        for _ in range(2000):
            durations.observe(0.25)

    threads = [threading.Thread(target=observe) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert durations.read() == ([0, 8000, 0, 0], 2000.0)
