"""Two manager processes over one cluster and one subscription: one of them works."""

import math
import urllib.error
import urllib.request

import pytest
from leasetimes import election_flags, short_timing
from operation import WAIT_SECONDS, Operation, free_port
from world import resource_group, virtual_network

from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.resources import LEASES, NAMESPACES

LEASE = ObjectKey(
    "azureserviceoperator-system", "controllers-leader-election-azinfra-generated"
)
CRDS = (
    "--crd-pattern=resources.azure.com/ResourceGroup;network.azure.com/VirtualNetwork"
)


@pytest.fixture
def operation(make_cluster, tmp_path):
    with Operation(tmp_path, cluster=make_cluster()) as running:
        running.client.create(NAMESPACES, {"metadata": {"name": LEASE.namespace}})
        yield running


@pytest.fixture
def timing():
    return short_timing()


@pytest.fixture
def start(operation, timing):
    """Starts managers whose requests to Azure tell them apart; ends them all."""
    children = []

    def begin(name, *arguments):
        child = operation.start_manager(
            *election_flags(timing), CRDS, *arguments, AZURE_USER_AGENT_SUFFIX=name
        )
        children.append(child)
        return child

    yield begin
    operation.cluster.faults.release_all()
    operation.azure.faults.release_all()
    for child in children:
        child.end()
    operation.manager = None


def asked_azure(operation):
    """Who asked Azure, request by request."""
    return [
        entry.headers["user-agent"].split()[-1] for entry in operation.azure.journal
    ]


def readiness(port):
    """The verbose report; "" before it is served."""
    try:
        url = f"http://127.0.0.1:{port}/readyz?verbose"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return ""
    except OSError:
        return ""


def test_le5_le10_the_standby_goes_on_where_a_killed_leader_was(
    operation, start, timing
):
    """The leader installs the CRDs, and is killed while Azure's answer is under way."""
    group, child = resource_group(), virtual_network()
    first = start("first")
    operation.wait_served(group, child)
    operation.apply(group)
    operation.wait_ready(group)
    port = free_port()
    start("second", f"--health-addr=127.0.0.1:{port}")
    put = operation.azure.faults.hold(
        method="PUT", path="virtualNetworks/vnet$", phase="after"
    )
    operation.apply(child)
    assert put.wait_arrived(WAIT_SECONDS)
    while "standby: " not in readiness(port):
        pass
    assert set(asked_azure(operation)) == {"first"}
    first.kill()
    put.drop()
    operation.wait_ready(child)
    agents = asked_azure(operation)
    handover = agents.index("second")
    assert set(agents[:handover]) == {"first"}
    assert set(agents[handover:]) == {"second"}
    lease = operation.client.get(LEASES, LEASE)["spec"]
    assert lease["leaseDurationSeconds"] == math.ceil(timing.lease_seconds)
    assert lease["leaseTransitions"] == 1
    assert "    leader: " in readiness(port)
