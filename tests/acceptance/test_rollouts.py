"""Clients that write do not notice upgrades, rollbacks and kills.

ASORECONCILE_ROLLOUTS is the number of upgrades, each with a rollback; `hack/ci long`
sets it.
"""

import os
from collections import Counter

import pytest
from clusters import TARGETS
from operation import Operation
from rollouts import Rollout, lost, repeated_puts, writing
from world import resource_group, virtual_network

from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS

ROUNDS = int(os.environ.get("ASORECONCILE_ROLLOUTS", "1"))
NAMES = [f"net{number}" for number in range(4)]
FLAGS = (
    "--crd-pattern=resources.azure.com/ResourceGroup;network.azure.com/VirtualNetwork",
)
CRD = ObjectKey("", "virtualnetworks.network.azure.com")
# For so long a killed process gets connections, or what was sent to it is waited for.
UNTIL_NOTICED_SECONDS = 2.0
HUNG_SECONDS = 30.0 if ROUNDS > 1 else 3.0
SLOW_SECONDS = 2.0


@pytest.fixture
def operation(tmp_path, make_cluster):
    with Operation(tmp_path, cluster=make_cluster()) as made:
        yield made


@pytest.fixture
def rollout(operation):
    made = Rollout(operation, FLAGS)
    yield made
    made.close()


def served(operation):
    found = operation.client.get(CUSTOM_RESOURCE_DEFINITIONS, CRD)["spec"]["versions"]
    return {one["name"] for one in found if one["served"]}


# On a real API server alone: the embedded one keeps to few connections.
@pytest.mark.parametrize("make_cluster", TARGETS[1:], indirect=True)
@pytest.mark.timeout(600 + 300 * ROUNDS)
def test_rollouts_and_kills_refuse_lose_and_repeat_nothing(operation, rollout):
    rollout.start()  # which leads
    rollout.start()
    operation.apply(resource_group())
    for name in NAMES:
        operation.apply(virtual_network(name))
        operation.wait_ready(virtual_network(name))
    with writing(operation, NAMES) as idle:
        idle.wait(60)
    assert idle.refused == []
    with writing(operation, NAMES) as hanging:
        rollout.hang(HUNG_SECONDS)
    # At most what was at the hung process: one write of each writer.
    assert len(hanging.refused) <= len(NAMES)
    assert lost(operation, hanging) == []
    slow = [seconds for seconds in hanging.seconds if seconds > SLOW_SECONDS]
    with writing(operation, NAMES) as notes:
        for _ in range(ROUNDS):
            rollout.to(newer=True)
            assert "v20990101" in served(operation)
            rollout.to(newer=False)
            assert "v20990101" not in served(operation)
    assert notes.refused == []
    assert lost(operation, notes) == []
    assert repeated_puts(operation) == []
    with writing(operation, NAMES) as killed:
        rollout.kill(1)
    assert [one for one in killed.refused if one[0] > UNTIL_NOTICED_SECONDS] == []
    assert lost(operation, killed) == []
    rollout.kill(2)
    with writing(operation, NAMES) as after:
        after.wait(30)
    assert after.refused == []
    assert max(Counter(repeated_puts(operation)).values(), default=0) <= 2
    print(  # noqa: T201 - for `pytest -s`
        f"{ROUNDS} upgrades and rollbacks: {len(notes.seconds)} writes, none refused, "
        f"p99 {notes.p99():.3f} s (idle {idle.p99():.3f} s); one replica killed: "
        f"{len(killed.refused)} of {len(killed.seconds)} refused; the leader hung for "
        f"{HUNG_SECONDS} s: {len(hanging.refused)} of {len(hanging.seconds)} refused, "
        f"{len(slow)} took more than {SLOW_SECONDS} s"
    )
