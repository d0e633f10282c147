"""SIGTERM reaches the operator while something of what it asked is not answered.

It ends within its grace with the exit code that the README says, gives the lease back,
and the next process sends nothing to Azure again that was known to have been accepted.
"""

import pytest
from operation import WAIT_SECONDS, Operation, free_port
from world import resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import POLLER_TOKEN
from asoreconcile.base.objects import ObjectKey, annotations
from asoreconcile.kube.resources import LEASES, NAMESPACES
from asoreconcile.runtime.leaderelection.lease import holder_of

LEASE = ObjectKey(
    "azureserviceoperator-system", "controllers-leader-election-azinfra-generated"
)
# What is cut off at its end hangs for four fifths; in the last one a busy machine has to
# write to the lease.
GRACE_SECONDS = 6
BROKEN_OFF = (
    "Stopped in the middle of a reconcile: the next process starts it again, and repeats"
    " a write of which nothing is recorded"
)


class Stopped(Operation):
    """A leading manager that is asked to end while requests are held."""

    def lead(self, *arguments):
        self.start_manager(
            "--enable-leader-election", f"--grace-seconds={GRACE_SECONDS}", *arguments
        )

    def stopped(self):
        """Its exit code, after a SIGTERM."""
        manager, self.manager = self.manager, None
        # A grace is no promise of a busy machine; one that hangs is killed, and -9.
        return manager.end(WAIT_SECONDS)

    def holder(self):
        return holder_of(self.client.get(LEASES, LEASE))

    def stop_is_clean(self):
        assert self.stopped() == 0
        assert self.holder() == ""
        assert "Traceback" not in self.logs()


@pytest.fixture
def operation(tmp_path, request):
    lro = getattr(request, "param", 0.0)
    with Stopped(tmp_path, lro=lro) as running:
        running.client.create(NAMESPACES, {"metadata": {"name": LEASE.namespace}})
        running.install(resource_group(), virtual_network())
        yield running


@pytest.fixture
def group(operation):
    """A group that is Ready; the manager has four threads for networks."""
    operation.lead()
    operation.apply(resource_group())
    operation.wait_ready(resource_group())


def arrived(hold):
    assert hold.wait_arrived(WAIT_SECONDS), "no such request came"
    return hold


def put_held(operation, name):
    """Apply a network, and hold the answer to its PUT."""
    path = f"virtualNetworks/{name}$"
    put = operation.azure.faults.hold(method="PUT", path=path, phase="after")
    operation.apply(virtual_network(name))
    return arrived(put)


def broken_off(operation):
    """The names of the resources whose reconcile was broken off, as the log has them."""
    records = operation.log_records(BROKEN_OFF)
    return sorted(record["armId"].rpartition("/")[2] for record in records)


def bodies(operation, name):
    return [one.body for one in operation.requests("PUT", f"virtualNetworks/{name}")]


@pytest.mark.usefixtures("group")
def test_mg4_writes_that_azure_does_not_answer(operation):
    """Nobody can know whether a write was accepted: it is sent once more, as it was."""
    going = virtual_network("going")
    operation.apply(going)
    operation.wait_ready(going)
    path = "virtualNetworks/going$"
    delete = operation.azure.faults.hold(method="DELETE", path=path, phase="after")
    operation.delete(going)
    arrived(delete)
    put = put_held(operation, "put")
    operation.stop_is_clean()
    assert "put" in broken_off(operation)
    put.drop()
    delete.drop()
    operation.lead()
    operation.wait_ready(virtual_network("put"))
    operation.wait_gone(going)
    first, second = bodies(operation, "put")
    assert first == second
    assert len(operation.requests("DELETE", "virtualNetworks/going")) == 2


@pytest.mark.parametrize("operation", [5.0], indirect=True, ids=["lasting"])
@pytest.mark.usefixtures("group")
def test_mg4_operations_whose_token_is_on_its_way(operation):
    """A token goes out again if its connection died, before the request or after it; if
    it cannot be written at all, the log says so.
    """
    records = []
    for name, fault in {
        "before": {"phase": "before", "times": 1},
        "after": {"phase": "after", "times": 1},
        "never": {},
    }.items():
        put = put_held(operation, name)
        path = f"virtualnetworks/{name}"
        record = operation.cluster.faults.hold(method="PATCH", path=path, **fault)
        put.release()
        records.append(arrived(record))
    poll = operation.azure.faults.hold(method="GET", path="/operations/")
    operation.apply(virtual_network("polled"))
    arrived(poll)
    operation.stop_is_clean()
    # The poll may be told of as well: it is repeated without harm.
    assert set(broken_off(operation)) - {"polled"} == {"never"}
    known = ("before", "after", "polled")
    for name in known:
        assert POLLER_TOKEN in annotations(operation.read(virtual_network(name)))
    for hold in (*records, poll):
        hold.drop()
    operation.lead()
    for name in (*known, "never"):
        operation.wait_ready(virtual_network(name))
    assert [len(bodies(operation, name)) for name in known] == [1, 1, 1]
    first, second = bodies(operation, "never")
    assert first == second


def test_mg4_a_stream_that_is_never_answered(operation):
    stream = operation.cluster.faults.hold(method="GET", path="virtualnetworks")
    operation.lead()
    arrived(stream)
    assert operation.stopped() == 0
    assert "Traceback" not in operation.logs()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/secrets"),
        ("PATCH", "customresourcedefinitions"),
        ("GET", "/mutatingwebhookconfigurations/"),
    ],
    ids=["the certificate of webhooks", "the CRDs, as the leader", "who calls them"],
)
def test_mg4_a_request_of_the_start_that_is_not_answered(operation, method, path):
    """The next start begins with it; nobody waits longer than the grace."""
    request = operation.cluster.faults.hold(method=method, path=path)
    port = free_port()
    operation.lead(
        f"--webhook-port={port}",
        f"--webhook-url=https://127.0.0.1:{port}",
        "--crd-pattern=resources.azure.com/*",
    )
    arrived(request)
    assert operation.stopped() == 0
    assert "Traceback" not in operation.logs()
    leases = operation.client.list_page(LEASES).items
    assert [holder_of(lease) for lease in leases] in ([], [""])
