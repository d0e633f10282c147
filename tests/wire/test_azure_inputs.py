"""Secrets and ConfigMaps that change while an operation runs."""

import pytest
from world import World, resource_group

from asoreconcile.azure.reconcile.model.annotations import POLLER_TOKEN
from asoreconcile.base.objects import ObjectKey, annotations
from asoreconcile.kube.resources import SECRETS

GROUPS = "resources.azure.com/ResourceGroup"
SERVERS = "dbforpostgresql.azure.com/FlexibleServer"
PASSWORD = ObjectKey("default", "db-admin")


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=5.0, retry_after=1) as running:
        running.install(GROUPS, SERVERS)
        running.client.create(
            SECRETS,
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "db-admin", "namespace": "default"},
                "stringData": {"password": "Sesame-1"},
            },
        )
        running.settled(resource_group())
        yield running


@pytest.fixture
def server(world):
    """A server whose creation runs."""
    return begun(world)


def begun(world):
    obj = {
        "apiVersion": "dbforpostgresql.azure.com/v20250801",
        "kind": "FlexibleServer",
        "metadata": {"name": "pg-db"},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "administratorLogin": "admin",
            "administratorLoginPassword": {"name": "db-admin", "key": "password"},
        },
    }
    world.apply(obj)
    world.run(obj)
    assert annotations(world.read(obj))[POLLER_TOKEN]
    return obj


def rotate(world, value):
    world.client.patch(SECRETS, PASSWORD, {"stringData": {"password": value}})


def sent(world):
    return [
        r.body["properties"]["administratorLoginPassword"]
        for r in world.requests("PUT", "flexibleServers")
    ]


@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted"])
def test_a_secret_rotated_during_an_operation_is_put_after_it(world, server, restarted):
    rotate(world, "Sesame-2")
    if restarted:
        world.restart()
    world.settle(server)
    assert sent(world) == ["Sesame-1", "Sesame-2"]


@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted"])
@pytest.mark.parametrize("rotated", [False, True], ids=["stays", "rotated"])
def test_d5_a_secret_rotated_during_an_operation_that_fails_is_put_at_once(
    world, rotated, restarted
):
    """Nobody waits out the back-off of a password that was corrected meanwhile."""
    world.azure.faults.fail_operation("flexibleServers", "LocationRequired", "No.")
    server = begun(world)
    if rotated:
        rotate(world, "Sesame-2")
    if restarted:
        world.restart()
    world.clock.advance(10.0)
    result = world.run(server)
    assert world.ready(server)["reason"] == "LocationRequired"
    assert (result.requeue_after_seconds < 1.0) is rotated
    world.clock.advance(1.0)
    world.run(server)
    assert sent(world)[1:] == ["Sesame-2" if rotated else "Sesame-1"]


@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted"])
def test_a_secret_that_stays_is_put_once(world, server, restarted):
    if restarted:
        world.restart()
    world.settle(server)
    assert sent(world) == ["Sesame-1"]


def test_a_secret_deleted_during_an_operation_is_missed_after_it(world, server):
    world.client.delete(SECRETS, PASSWORD)
    for _ in range(8):
        world.clock.advance(1.0)
        world.run(server)
        assert world.ready(server)["status"] == "False"
    assert world.ready(server)["reason"] == "SecretNotFound"
    assert sent(world) == ["Sesame-1"]
