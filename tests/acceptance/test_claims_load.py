"""The documents' promises for much work, and for work that takes long."""

import re
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress

import pytest
from operation import WAIT_SECONDS, Operation, free_port
from world import resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import POLLER_TOKEN
from asoreconcile.base.objects import annotations

DEPTH = r'workqueue_depth\{[^}]*name="network_virtualnetwork"[^}]*\} (\S+)'
WORKERS = r'active_workers\{controller="network_virtualnetwork"\} (\S+)'
NAMES = [f"net-{n}" for n in range(5)]


@pytest.fixture
def operation(tmp_path, request):
    seconds = getattr(request, "param", 1)
    with Operation(tmp_path, lro=1.0, retry_after=seconds) as running:
        running.install(resource_group(), virtual_network())
        yield running


@contextmanager
def manager(operation, *, workers):
    """A manager whose metrics can be read; killed in the end."""
    port = free_port()
    operation.start_manager(
        *("--metrics-addr", f"127.0.0.1:{port}", "--secure-metrics=false"),
        MAX_CONCURRENT_RECONCILES=str(workers),
    )

    def metric(pattern):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            text = answer.read().decode()
        return sum(float(value) for value in re.findall(pattern, text))

    yield metric
    operation.kill_manager()


def comes_to(metric, pattern, value):
    """Scrape until a metric has a value, as a monitoring system would."""
    found = None
    for _ in range(1500):
        with suppress(urllib.error.URLError):  # it is still starting
            found = metric(pattern)
            if found == value:
                return
        threading.Event().wait(0.02)
    pytest.fail(f"{pattern} stays at {found}")


# All must be sent before the first poll, which holds the worker.
@pytest.mark.parametrize("operation", [4], indirect=True, ids=["poll-in-4-s"])
def test_a_running_operation_blocks_nobody_and_survives_a_kill(operation):
    """One worker: its token is stored on the object, and others go on meanwhile."""
    group = resource_group()
    networks = [virtual_network(name) for name in NAMES[:3]]
    poll = operation.azure.faults.hold(method="GET", path="/operations/")
    with manager(operation, workers=1):
        operation.apply(group)
        for obj in networks:
            operation.apply(obj)
            operation.wait_for(obj, lambda o: POLLER_TOKEN in annotations(o))
        assert poll.wait_arrived(WAIT_SECONDS)
    poll.drop()
    for obj in networks:
        assert POLLER_TOKEN in annotations(operation.read(obj))
    with manager(operation, workers=1):
        for obj in networks:
            operation.wait_ready(obj)
    for name in NAMES[:3]:
        assert len(operation.requests("PUT", f"virtualNetworks/{name}")) == 1


def test_the_queue_s_length_is_visible_and_falls_with_more_workers(operation):
    slow = operation.azure.faults.hold(method="PUT", path="virtualNetworks/net-")
    with manager(operation, workers=1) as metric:
        group = resource_group()
        operation.apply(group)
        operation.wait_ready(group)
        for name in NAMES:
            operation.apply(virtual_network(name))
        comes_to(metric, DEPTH, 4)
        assert metric(WORKERS) == 1
    with manager(operation, workers=5) as metric:
        comes_to(metric, WORKERS, 5)
        comes_to(metric, DEPTH, 0)
        slow.release()
        for name in NAMES:
            operation.wait_ready(virtual_network(name))
        comes_to(metric, DEPTH, 0)
