"""PUTs that follow a success without an edit are few, whatever changes the inputs."""

import attrs
import pytest
from world import World, postgres_server, resource_group

from asoreconcile.azure.reconcile.model.put_budget import (
    MOST_PUTS,
    PUT_BUDGET_SPENT,
    PutBudget,
)
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.base.objects import ObjectKey, uid_of
from asoreconcile.kube.resources import SECRETS

GROUPS = "resources.azure.com/ResourceGroup"
SERVERS = "dbforpostgresql.azure.com/FlexibleServer"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=1.0, retry_after=1) as running:
        running.install(GROUPS, SERVERS)
        running.operator = attrs.evolve(running.operator, sync_mode=SyncMode.COMPARE)
        running.settled(resource_group())
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "db-admin", "namespace": "default"},
            "stringData": {"password": "Sesame-0"},
        }
        running.client.create(SECRETS, secret)
        yield running


@pytest.fixture
def server(world):
    obj = world.settled(postgres_server())
    world.azure.journal.clear()
    return obj


def rotate(world, number):
    body = {"stringData": {"password": f"Sesame-{number}"}}
    world.client.patch(SECRETS, ObjectKey("default", "db-admin"), body)


def puts(world):
    return len(world.requests("PUT", "flexibleServers"))


def spin(world, server, times):
    """A Secret that changes as soon as its value has been put."""
    for number in range(times):
        rotate(world, number + 1)
        result = passes(world, server)
    return result


def passes(world, server):
    """Run as many reconciles as an operation takes, and then one."""
    for _ in range(8):
        result = world.run(server)
        world.clock.advance(min(result.requeue_after_seconds, 5.0))
    return result


def test_inputs_that_change_without_end_are_braked(world, server):
    counted = []
    world.operator = attrs.evolve(
        world.operator, count_sync=lambda *given: counted.append(given)
    )
    result = spin(world, server, MOST_PUTS + 10)
    assert puts(world) == MOST_PUTS
    ready = world.ready(server)
    assert (ready["status"], ready["reason"]) == ("False", PUT_BUDGET_SPENT)
    assert ("braked", False) in counted
    # It ends by itself, with the newest value.
    world.clock.advance(result.requeue_after_seconds)
    passes(world, server)
    assert puts(world) == MOST_PUTS + 1
    assert world.ready(server)["status"] == "True"
    sent = world.requests("PUT", "flexibleServers")[-1].body["properties"]
    assert sent["administratorLoginPassword"] == f"Sesame-{MOST_PUTS + 10}"


def test_k4_a_restart_gives_no_new_budget(world, server):
    spin(world, server, MOST_PUTS - 1)
    world.restart()
    spin(world, server, MOST_PUTS)
    assert puts(world) == MOST_PUTS
    assert world.ready(server)["reason"] == PUT_BUDGET_SPENT
    world.restart()
    result = world.run(server)
    assert puts(world) == MOST_PUTS
    world.clock.advance(result.requeue_after_seconds)
    passes(world, server)
    assert puts(world) == MOST_PUTS + 1


def test_k4_a_failure_between_two_puts_hides_no_success(world, server):
    """A tool may delete a Secret and make it again with each rotation."""
    uid, key = uid_of(world.read(server)), ObjectKey("default", "pg-db")
    memory = world.kind_of(server).memories.of(key, uid)
    memory.keep(PutBudget((world.clock.monotonic(),) * MOST_PUTS))
    secret = world.client.get(SECRETS, ObjectKey("default", "db-admin"))
    world.client.delete(SECRETS, ObjectKey("default", "db-admin"))
    world.run(server)
    assert world.ready(server)["reason"] == "SecretNotFound"
    del secret["metadata"]["resourceVersion"], secret["metadata"]["uid"]
    world.client.create(SECRETS, {**secret, "data": {"password": "b3RoZXI="}})
    world.run(server)
    assert (world.ready(server)["reason"], puts(world)) == (PUT_BUDGET_SPENT, 0)


def test_edits_are_not_braked(world, server):
    for number in range(MOST_PUTS + 5):
        edited = postgres_server()
        edited["spec"]["tags"] = {"edit": str(number)}
        world.apply(edited)
        world.settle(edited)
    assert puts(world) == MOST_PUTS + 5
    rotate(world, 1)
    world.settle(server)
    assert world.ready(server)["status"] == "True"


def test_an_edit_ends_the_brake(world, server):
    spin(world, server, MOST_PUTS + 1)
    assert world.ready(server)["reason"] == PUT_BUDGET_SPENT
    edited = postgres_server()
    edited["spec"]["tags"] = {"edit": "yes"}
    world.apply(edited)
    world.settle(edited)
    assert puts(world) == MOST_PUTS + 1


def test_puts_that_each_sync_sends_are_not_braked(world, server):
    world.operator = attrs.evolve(world.operator, sync_mode=SyncMode.PUT)
    for _ in range(MOST_PUTS // 2):
        passes(world, server)
    assert world.ready(server)["status"] == "True"
    assert puts(world) > MOST_PUTS
