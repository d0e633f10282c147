"""Gates before a write, one block of rows per kind of the inventory."""

import pytest
from extensions_chains import cr, default, group_kind, status_at, version

from asoreconcile.azure.arm.condition_error import RetryClass
from asoreconcile.azure.middleware.extension_points import (
    PRE_RECONCILE,
    PRE_RECONCILE_OWNER,
)
from asoreconcile.azure.middleware.requests import (
    Block,
    PreReconcile,
    PreReconcileOwner,
    Proceed,
)
from asoreconcile.azure.testing.extensions import fake_ctx

TERMINAL = ["Succeeded", "Failed", "Canceled", "succeeded", "FAILED", "cAnCeLeD"]
BUSY = [
    "Creating",
    "Updating",
    "Upgrading",
    "Deleting",
    "Running",
    "Starting",
    "stopped",
]

RESOURCE_GATES = {
    "containerservice/ManagedCluster": ("provisioningState", TERMINAL, BUSY),
    "containerservice/ManagedClustersAgentPool": ("provisioningState", TERMINAL, BUSY),
    "kusto/Cluster": ("provisioningState", TERMINAL, BUSY),
    "dbforpostgresql/FlexibleServer": (
        "state",
        [*TERMINAL, "Ready", "READY"],
        ["Stopped", "Starting", "Updating", "Dropping", "disabled"],
    ),
    "documentdb/DatabaseAccount": (
        "provisioningState",
        [*TERMINAL, "Creating", "Updating"],
        ["Deleting", "DELETING", "deleting"],
    ),
}
RESOURCE_GATES["redhatopenshift/HcpOpenShiftCluster"] = (
    "properties.provisioningState",
    *RESOURCE_GATES["documentdb/DatabaseAccount"][1:],
)
OWNER_GATES = {
    "containerservice/ManagedClustersAgentPool": "containerservice/ManagedCluster",
    "kusto/Database": "kusto/Cluster",
    "dbforpostgresql/FlexibleServersDatabase": "dbforpostgresql/FlexibleServer",
    "dbforpostgresql/FlexibleServersFirewallRule": "dbforpostgresql/FlexibleServer",
}


def rows(gates, index):
    return [
        pytest.param(kind, gate[0], state, id=f"{kind}-{state}")
        for kind, gate in gates.items()
        for state in gate[index]
    ]


def owner_rows(index):
    return [
        pytest.param(
            child, owner, RESOURCE_GATES[owner][0], state, id=f"{child}-{state}"
        )
        for child, owner in OWNER_GATES.items()
        for state in RESOURCE_GATES[owner][index]
    ]


def checked(kind, status):
    chain = default().chain(PRE_RECONCILE, group_kind(kind))
    return chain(PreReconcile(fake_ctx(version(kind)), cr(kind, status=status)))


def owner_checked(child, owner_kind, status):
    chain = default().chain(PRE_RECONCILE_OWNER, group_kind(child))
    owner = cr(owner_kind, status=status, name="the-owner")
    return chain(PreReconcileOwner(fake_ctx(version(child)), owner, cr(child)))


@pytest.mark.parametrize(("kind", "field", "state"), rows(RESOURCE_GATES, 1))
def test_a_resource_in_a_steady_state_is_written(kind, field, state):
    assert checked(kind, status_at(field, state)) == Proceed()


@pytest.mark.parametrize(("kind", "field", "state"), rows(RESOURCE_GATES, 2))
def test_a_resource_in_transition_is_left_alone_and_the_message_says_why(
    kind, field, state
):
    answer = checked(kind, status_at(field, state))
    assert isinstance(answer, Block)
    assert f'"{state}"' in answer.message
    assert answer.retry is RetryClass.SLOW


@pytest.mark.parametrize("kind", RESOURCE_GATES)
def test_a_resource_without_a_state_is_written(kind):
    assert checked(kind, {}) == Proceed()


@pytest.mark.parametrize(("child", "owner", "field", "state"), owner_rows(1))
def test_a_child_of_a_steady_owner_is_written(child, owner, field, state):
    assert owner_checked(child, owner, {field: state}) == Proceed()


@pytest.mark.parametrize(("child", "owner", "field", "state"), owner_rows(2))
def test_a_child_of_an_owner_in_transition_waits(child, owner, field, state):
    answer = owner_checked(child, owner, {field: state})
    assert isinstance(answer, Block)
    assert f'"{state}"' in answer.message
    assert answer.retry is RetryClass.SLOW


@pytest.mark.parametrize(("child", "owner"), OWNER_GATES.items())
def test_a_child_of_an_owner_without_a_state_is_written(child, owner):
    assert owner_checked(child, owner, {}) == Proceed()


@pytest.mark.parametrize("child", OWNER_GATES)
def test_a_child_of_an_owner_of_another_type_is_written(child):
    busy = status_at("provisioningState", "Updating") | {"state": "Updating"}
    assert owner_checked(child, "resources/ResourceGroup", busy) == Proceed()


def test_a_stopped_kusto_cluster_may_be_written():
    status = {"provisioningState": "Succeeded", "state": "Stopped"}
    assert checked("kusto/Cluster", status) == Proceed()


@pytest.mark.parametrize(
    "state", ["Stopped", "Stopping", "Starting", "Updating", "Unavailable", "Migrated"]
)
def test_a_kusto_cluster_that_does_not_run_blocks_its_databases(state):
    status = {"provisioningState": "Succeeded", "state": state}
    answer = owner_checked("kusto/Database", "kusto/Cluster", status)
    assert isinstance(answer, Block)
    assert f'"{state}"' in answer.message
    assert answer.retry is RetryClass.SLOW


@pytest.mark.parametrize("state", ["Running", "running", ""])
def test_a_kusto_cluster_that_runs_takes_databases(state):
    status = {"provisioningState": "Succeeded", "state": state}
    assert owner_checked("kusto/Database", "kusto/Cluster", status) == Proceed()


def test_the_message_of_a_kusto_database_names_the_clusters_state():
    answer = owner_checked(
        "kusto/Database", "kusto/Cluster", {"provisioningState": "Updating"}
    )
    assert answer == Block('Owning cluster is in provisioning state "Updating"')


@pytest.mark.parametrize(
    "child",
    [
        "containerservice/ManagedClustersAgentPool",
        "dbforpostgresql/FlexibleServersDatabase",
        "dbforpostgresql/FlexibleServersFirewallRule",
    ],
)
def test_the_message_names_the_owner(child):
    busy = {"provisioningState": "Updating", "state": "Updating"}
    answer = owner_checked(child, OWNER_GATES[child], busy)
    assert '"the-owner"' in answer.message


@pytest.mark.parametrize(
    ("status", "blocks"),
    [
        ({"properties": {"provisioningState": "Succeeded"}}, False),
        ({"properties": {"provisioningState": "succeeded"}}, True),
        ({"properties": {"provisioningState": "Failed"}}, True),
        ({"properties": {"provisioningState": "Creating"}}, True),
        ({"properties": {}}, False),
        ({"properties": None}, False),
        ({}, False),
    ],
    ids=["exact", "case", "failed", "busy", "no state", "null", "none"],
)
def test_b12_a_cassandra_data_center_waits_for_a_cluster_that_succeeded(status, blocks):
    answer = owner_checked(
        "documentdb/CassandraDataCenter", "documentdb/CassandraCluster", status
    )
    assert isinstance(answer, Block) is blocks
