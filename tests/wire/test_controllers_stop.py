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
NETWORK = "virtualNetworks/vnet$"
BROKEN_OFF = (
    "Stopped in the middle of a reconcile: the next process begins it anew, and repeats"
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

    def writes(self, method):
        return len(self.requests(method, "virtualNetworks/vnet"))

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
def network(operation):
    """What is applied, in a group that is Ready."""
    operation.lead()
    operation.apply(resource_group())
    operation.wait_ready(resource_group())
    return virtual_network()


def arrived(hold):
    assert hold.wait_arrived(WAIT_SECONDS), "no such request came"
    return hold


LASTING = pytest.mark.parametrize("operation", [5.0], indirect=True, ids=["lasting"])


def test_mg4_a_put_that_azure_does_not_answer(operation, network):
    """Nobody can know whether it was accepted: it is sent once more, as it was."""
    put = operation.azure.faults.hold(method="PUT", path=NETWORK, phase="after")
    operation.apply(network)
    arrived(put)
    operation.stop_is_clean()
    assert len(operation.log_records(BROKEN_OFF)) == 1
    put.drop()
    operation.lead()
    operation.wait_ready(network)
    first, second = operation.requests("PUT", "virtualNetworks/vnet")
    assert first.body == second.body


@LASTING
def test_mg4_a_poll_that_azure_does_not_answer(operation, network):
    poll = operation.azure.faults.hold(method="GET", path="/operations/")
    operation.apply(network)
    arrived(poll)
    operation.stop_is_clean()
    assert POLLER_TOKEN in annotations(operation.read(network))
    poll.drop()
    operation.lead()
    operation.wait_ready(network)
    assert operation.writes("PUT") == 1


@LASTING
@pytest.mark.parametrize("phase", ["before", "after"])
def test_mg4_a_token_goes_out_again_where_its_connection_died(
    operation, network, phase
):
    put = operation.azure.faults.hold(method="PUT", path=NETWORK, phase="after")
    operation.apply(network)
    arrived(put)
    record = operation.cluster.faults.hold(
        method="PATCH", path="virtualnetworks/vnet", phase=phase, times=1
    )
    put.release()
    arrived(record)
    operation.stop_is_clean()
    assert POLLER_TOKEN in annotations(operation.read(network))
    record.drop()
    operation.lead()
    operation.wait_ready(network)
    assert operation.writes("PUT") == 1


@LASTING
def test_mg4_a_token_that_cannot_be_written_is_not_lost_silently(operation, network):
    put = operation.azure.faults.hold(method="PUT", path=NETWORK, phase="after")
    operation.apply(network)
    arrived(put)
    record = operation.cluster.faults.hold(method="PATCH", path="virtualnetworks/vnet")
    put.release()
    arrived(record)
    operation.stop_is_clean()
    (told,) = operation.log_records(BROKEN_OFF)
    assert told["armId"].endswith("virtualNetworks/vnet")
    record.drop()
    operation.lead()
    operation.wait_ready(network)
    first, second = operation.requests("PUT", "virtualNetworks/vnet")
    assert first.body == second.body


def test_mg4_a_deletion_that_azure_does_not_answer(operation, network):
    operation.apply(network)
    operation.wait_ready(network)
    delete = operation.azure.faults.hold(method="DELETE", path=NETWORK, phase="after")
    operation.delete(network)
    arrived(delete)
    operation.stop_is_clean()
    delete.drop()
    operation.lead()
    operation.wait_gone(network)
    assert operation.writes("DELETE") == 1  # a look shows that it is gone


@pytest.mark.parametrize("path", ["virtualnetworks", "customresourcedefinitions"])
def test_mg4_a_stream_that_is_never_answered(operation, path):
    stream = operation.cluster.faults.hold(method="GET", path=path)
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
