"""The queue's metrics, walked on a clock that stands still."""

import pytest
from prometheus_client import Counter, generate_latest

from asoreconcile.observability.metrics import RuntimeMetrics
from asoreconcile.queue.workqueue import WorkQueue

NAME = {"name": "vnet", "controller": "vnet"}


@pytest.fixture
def queue(clock, registry):
    metrics = RuntimeMetrics(registry).queue("vnet")
    return WorkQueue("vnet", clock=clock, metrics=metrics)


@pytest.fixture
def value(registry):
    def read(name, **labels):
        return registry.get_sample_value(f"workqueue_{name}", {**NAME, **labels})

    return read


def test_wq7_depth_follows_the_ready_keys_of_each_priority(queue, value, clock):
    assert value("depth", priority="0") is None
    queue.add("a")
    queue.add("b", priority=-100)
    queue.add_after("c", 5)
    assert (value("depth", priority="0"), value("depth", priority="-100")) == (1, 1)
    clock.advance(5)
    assert value("depth", priority="0") == 2
    queue.add("b", priority=3)
    assert value("depth", priority="-100") == 0
    assert value("depth", priority="3") == 1
    queue.get()
    assert value("depth", priority="3") == 0


def test_a_hold_takes_a_ready_key_out_of_the_depth(queue, value):
    queue.add("a")
    queue.add_after("a", 5, not_before=True)
    assert value("depth", priority="0") == 0


def test_adds_count_keys_that_became_ready_and_no_collapsed_ones(queue, value, clock):
    queue.add("a")
    queue.add("a")
    queue.add_after("b", 5)
    assert value("adds_total") == 1
    clock.advance(5)
    assert value("adds_total") == 2
    queue.get()
    queue.add("a")
    assert value("adds_total") == 3


def test_dq5_retries_count_adds_with_a_delay(queue, value):
    queue.add_after("a", 5)
    queue.add_after("a", 0)
    queue.add_rate_limited("b")
    assert value("retries_total") == 2


def test_queue_duration_runs_from_ready_to_taken(queue, value, clock):
    queue.add_after("a", 100)
    clock.advance(100)
    clock.advance(2)
    queue.add("a")
    clock.advance(1)
    queue.get()
    assert value("queue_duration_seconds_sum") == 3
    assert value("queue_duration_seconds_count") == 1
    assert value("queue_duration_seconds_bucket", le="1.0") == 0
    assert value("queue_duration_seconds_bucket", le="10.0") == 1


def test_work_duration_runs_from_taken_to_done(queue, value, clock):
    queue.add("a")
    queue.get()
    clock.advance(0.5)
    assert value("work_duration_seconds_count") is None
    queue.done("a")
    assert value("work_duration_seconds_sum") == 0.5


def test_ages_of_running_work_are_those_of_the_scrape(queue, value, clock):
    for key in ("a", "b"):
        queue.add(key)
        queue.get()
        clock.advance(10)
    assert value("unfinished_work_seconds") == 30
    assert value("longest_running_processor_seconds") == 20
    queue.shut_down()
    clock.advance(5)
    assert value("longest_running_processor_seconds") == 25
    queue.done("a")
    queue.done("b")
    assert value("unfinished_work_seconds") == 0
    assert value("longest_running_processor_seconds") == 0


def test_buckets_are_the_twelve_powers_of_ten(queue, value, clock):
    queue.add("a")
    clock.advance(5000)
    queue.get()
    clock.advance(5000)
    queue.done("a")
    for exponent in range(-8, 4):
        bound = str(10.0**exponent)
        assert value("work_duration_seconds_bucket", le=bound) == 0
        assert value("queue_duration_seconds_bucket", le=bound) == 0


def test_more_than_25_priorities_share_a_label(queue, value):
    for number in range(30):
        queue.add(number, priority=number)
    assert value("depth", priority="24") == 1
    assert value("depth", priority="25") is None
    assert value("depth", priority="exceeded_cardinality_limit") == 5


def test_a_forgotten_queue_is_not_read_any_more(clock, registry, value):
    metrics = RuntimeMetrics(registry)
    WorkQueue("vnet", clock=clock, metrics=metrics.queue("vnet"))
    assert value("adds_total") == 0
    metrics.forget("vnet")
    assert value("adds_total") is None


def test_families_are_exposed_by_their_exact_names(clock, registry):
    metrics = RuntimeMetrics(registry)
    WorkQueue("vnet", clock=clock, metrics=metrics.queue("vnet")).add("a")
    metrics.controller("vnet").seconds.observe(0.5)
    metrics.kube_request("200", "GET", "host:6443", 0.3)
    metrics.informer("VNet", has_synced=lambda: True, idle_seconds=lambda: 1.5)
    metrics.informer("New", has_synced=lambda: False, idle_seconds=lambda: None)
    text = generate_latest(registry).decode()
    for line in (
        'workqueue_adds_total{controller="vnet",name="vnet"} 1.0',
        'workqueue_depth{controller="vnet",name="vnet",priority="0"} 1.0',
        'workqueue_retries_total{controller="vnet",name="vnet"} 0.0',
        'controller_runtime_reconcile_total{controller="vnet",result="requeue"} 0.0',
        'controller_runtime_reconcile_errors_total{controller="vnet"} 0.0',
        'controller_runtime_terminal_reconcile_errors_total{controller="vnet"} 0.0',
        'controller_runtime_reconcile_panics_total{controller="vnet"} 0.0',
        'controller_runtime_reconcile_timeouts_total{controller="vnet"} 0.0',
        'controller_runtime_reconcile_time_seconds_count{controller="vnet"} 1.0',
        'controller_runtime_max_concurrent_reconciles{controller="vnet"} 0.0',
        'controller_runtime_active_workers{controller="vnet"} 0.0',
        'rest_client_request_duration_seconds_bucket{host="host:6443",le="0.25",verb="GET"} 0.0',
        'rest_client_request_duration_seconds_bucket{host="host:6443",le="0.5",verb="GET"} 1.0',
        'rest_client_requests_total{code="200",host="host:6443",method="GET"} 1.0',
        'informer_synced{kind="VNet"} 1.0',
        'informer_synced{kind="New"} 0.0',
        'informer_seconds_since_watch_activity{kind="VNet"} 1.5',
    ):
        assert line in text.splitlines()
    assert 'watch_activity{kind="New"}' not in text


def test_a_controller_s_series_are_there_from_the_start_and_count_each_outcome(
    registry,
):
    def value(name, **labels):
        name = f"controller_runtime_{name}"
        return registry.get_sample_value(name, {"controller": "vnet", **labels})

    def counted():
        return {
            **{one: value("reconcile_total", result=one) for one in results},
            **{name: value(name) for name in failures},
        }

    results = ("success", "error", "requeue", "requeue_after")
    failures = (
        "reconcile_errors_total",
        "terminal_reconcile_errors_total",
        "reconcile_panics_total",
        "reconcile_timeouts_total",
    )
    controller = RuntimeMetrics(registry).controller("vnet")
    assert set(counted().values()) == {0}
    controller.count("error", "errors", "panics")
    controller.count("error", "errors", "terminal_errors", "timeouts")
    controller.count("success")
    assert list(counted().values()) == [1, 2, 0, 0, 2, 1, 1, 1]
    controller.active.inc()
    controller.active.inc()
    controller.active.dec()
    controller.max_concurrent.set(4)
    assert (value("active_workers"), value("max_concurrent_reconciles")) == (1, 4)


def test_a_controller_that_is_made_anew_goes_on_with_its_counts(registry):
    metrics = RuntimeMetrics(registry)
    metrics.controller("vnet").count("success")
    metrics.controller("vnet").count("success")
    labels = {"controller": "vnet", "result": "success"}
    assert registry.get_sample_value("controller_runtime_reconcile_total", labels) == 2


def test_a_series_of_durations_is_shown_from_the_first_on(registry):
    metrics = RuntimeMetrics(registry)
    queue, controller = metrics.queue("vnet"), metrics.controller("vnet")

    def shown():
        return {
            name
            for line in generate_latest(registry).decode().splitlines()
            if "_count{" in line
            for name in [line.partition("_count{")[0]]
        }

    assert shown() == set()
    queue.queue_seconds.observe(1.0)
    queue.work_seconds.observe(1.0)
    controller.seconds.observe(1.0)
    assert shown() == {
        "workqueue_queue_duration_seconds",
        "workqueue_work_duration_seconds",
        "controller_runtime_reconcile_time_seconds",
    }


def test_a_family_of_one_s_own_by_a_controller_s_name_is_refused(registry):
    RuntimeMetrics(registry)
    with pytest.raises(ValueError, match="Duplicated"):
        Counter("controller_runtime_reconcile_total", "Mine", registry=registry)
