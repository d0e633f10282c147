"""A manager that is started anew over objects in order, as processes (D11)."""

import re
import urllib.request
from datetime import UTC, datetime, timedelta

import pytest
from operation import WAIT_SECONDS, Operation, free_port
from world import postgres_server, resource_group

from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED, loads
from asoreconcile.azure.reconcile.state.sync_schedule import place_in_period
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import ObjectKey, annotations, uid_of
from asoreconcile.kube.resources import LEASES, NAMESPACES, SECRETS

GROUPS = 8
# So long that no object's place in it comes while a test runs.
PERIOD = "87600h"
RESUMED = re.compile(
    r'^asoreconcile_sync_puts_avoided_total\{cause="resumed"\} ([0-9.]+)$', re.MULTILINE
)


@pytest.fixture
def operation(tmp_path):
    with Operation(tmp_path) as running:
        yield running


ELECTION = "--enable-leader-election"
LEASE = ObjectKey(
    "azureserviceoperator-system", "controllers-leader-election-azinfra-generated"
)


def start(operation, *arguments):
    """A manager; how many objects it has found in order so far can be asked."""
    port = free_port()
    operation.start_manager(
        *("--metrics-addr", f"127.0.0.1:{port}", "--secure-metrics=false"),
        *arguments,
        AZURE_SYNC_PERIOD=PERIOD,
    )

    def resumed():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                found = RESUMED.search(answer.read().decode())
        except OSError:
            return 0  # it does not listen yet
        return int(float(found[1])) if found else 0

    return resumed


def wait_resumed(resumed, count):
    end = SystemClock.monotonic() + WAIT_SECONDS
    while (found := resumed()) < count:
        assert SystemClock.monotonic() < end, f"{found} of {count}"
    assert found == count


def applied(operation, *arguments):
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "db-admin"},
        "stringData": {"password": "Sesame-1"},
    }
    groups = [resource_group(f"rg{i}", tags={"n": str(i)}) for i in range(GROUPS)]
    server = postgres_server(owner="rg0")
    operation.install(*groups, server)
    start(operation, *arguments)
    operation.apply(secret)
    for obj in (*groups, server):
        operation.apply(obj)
    for obj in (*groups, server):
        operation.wait_ready(obj)
        operation.wait_for(obj, is_noted)
    return groups, server


def is_noted(obj):
    """Whether the next process can tell what Azure had: a moment after Ready."""
    note = loads(annotations(obj).get(OBSERVED) or "")
    return note is not None and note.rest != ""


def asked(operation):
    return [(request.method, request.path) for request in operation.azure.journal]


@pytest.mark.parametrize("ended", ["kill", "stop"])
def test_d11_a_restart_asks_nothing_and_writes_nothing(operation, ended):
    groups, server = applied(operation)
    objs = [*groups, server]
    if ended == "kill":
        operation.kill_manager()
    else:
        operation.manager.end()
    before = [operation.read(obj) for obj in objs]
    operation.azure.journal.clear()
    resumed = start(operation)
    wait_resumed(resumed, len(objs))
    assert asked(operation) == []
    assert [operation.read(obj) for obj in objs] == before


def test_d11_what_fell_due_while_nobody_led_is_looked_at(operation):
    """The Lease says since when: here since just before one object's place."""
    operation.client.create(NAMESPACES, {"metadata": {"name": LEASE.namespace}})
    groups, server = applied(operation, ELECTION)
    operation.manager.end()
    lease = operation.client.get(LEASES, LEASE)
    assert lease["spec"]["holderIdentity"] == ""
    period = float(PERIOD.removesuffix("h")) * 3600
    place = place_in_period(uid_of(operation.read(groups[2]))) * period
    now = SystemClock().now().timestamp()
    due = datetime.fromtimestamp(now - (now - place) % period, UTC)
    lease["spec"]["renewTime"] = f"{due - timedelta(seconds=1):%Y-%m-%dT%H:%M:%S.%fZ}"
    operation.client.replace(LEASES, lease)
    before = operation.read(groups[2])
    operation.azure.journal.clear()
    wait_resumed(start(operation, ELECTION), len([*groups, server]))
    end = SystemClock.monotonic() + WAIT_SECONDS
    while not (found := asked(operation)):
        assert SystemClock.monotonic() < end
    assert [(method, path.rpartition("/")[2]) for method, path in found] == [
        ("GET", "rg2")
    ]
    assert operation.read(groups[2]) == before


def test_what_changed_while_nobody_ran_is_sent_and_nothing_else(operation):
    groups, _ = applied(operation)
    operation.kill_manager()
    operation.azure.journal.clear()
    operation.edit(groups[3], {"spec": {"tags": {"n": "edited"}}})
    # As of an object that ASO has made: there is nothing but what that wrote.
    note = {"metadata": {"annotations": {OBSERVED: None}}}
    operation.edit(groups[5], note)
    key = ObjectKey("default", "db-admin")
    operation.client.patch(SECRETS, key, {"stringData": {"password": "Sesame-2"}})
    resumed = start(operation)
    operation.wait_ready(groups[3])
    operation.wait_for(groups[5], lambda found: OBSERVED in annotations(found))
    wait_resumed(resumed, GROUPS - 2)
    server_put = "flexibleServers/"
    end = SystemClock.monotonic() + WAIT_SECONDS
    while not operation.requests("PUT", server_put):
        assert SystemClock.monotonic() < end
    (sent,) = operation.requests("PUT", server_put)
    assert sent.body["properties"]["administratorLoginPassword"] == "Sesame-2"
    puts = {
        path.rpartition("/")[2] for method, path in asked(operation) if method == "PUT"
    }
    assert puts == {"rg3", sent.path.rpartition("/")[2]}
    assert [path for _, path in asked(operation) if path.endswith("rg7")] == []
    assert len(operation.requests("GET", "resourceGroups/rg5")) >= 1
