"""Crossings of maintenance windows, reach and the budget of PUTs."""

from datetime import timedelta

import attrs
import pytest
from world import World, postgres_server, resource_group

from asoreconcile.azure.reconcile.model.annotations import (
    ALLOWED_TYPES,
    MAINTENANCE_WINDOWS,
)
from asoreconcile.azure.reconcile.model.drift_baseline import RepairAttempts
from asoreconcile.azure.reconcile.model.put_budget import MOST_PUTS, PutBudget
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.base.objects import ObjectKey, uid_of
from asoreconcile.kube.resources import NAMESPACES, SECRETS

CHANGES = MOST_PUTS + 4


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=1.0, retry_after=1) as running:
        running.install(
            "resources.azure.com/ResourceGroup",
            "dbforpostgresql.azure.com/FlexibleServer",
        )
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


def memory_of(world, server):
    key, uid = ObjectKey("default", "pg-db"), uid_of(world.read(server))
    return world.kind_of(server).memories.of(key, uid)


def change(world, server, number):
    body = {"stringData": {"password": f"Sesame-{number}"}}
    world.client.patch(SECRETS, ObjectKey("default", "db-admin"), body)
    result = world.run(server)
    world.clock.advance(1.0)
    return result


def annotate(world, **notes):
    body = {"metadata": {"annotations": notes}}
    world.client.patch(NAMESPACES, ObjectKey("", "default"), body)


def window_in(world, hours):
    start = world.clock.now() + timedelta(hours=hours)
    return f"{start.minute} {start.hour} * * * 1h"


@pytest.mark.parametrize("held_by", ["windows", "reach"])
def test_changes_that_may_not_be_sent_use_up_no_budget(world, server, held_by):
    reason = {"windows": "OutsideMaintenanceWindow", "reach": "NotAllowedInNamespace"}
    counted = []
    world.operator = attrs.evolve(
        world.operator, count_sync=lambda *given: counted.append(given)
    )
    if held_by == "windows":
        annotate(world, **{MAINTENANCE_WINDOWS: window_in(world, 3)})
    else:
        annotate(world, **{ALLOWED_TYPES: "Microsoft.Nothing"})
    repairs = memory_of(world, server).part(RepairAttempts)
    for number in range(CHANGES):
        change(world, server, number + 1)
    assert world.ready(server)["reason"] == reason[held_by]
    assert memory_of(world, server).part(PutBudget).sent == ()
    assert memory_of(world, server).part(RepairAttempts) == repairs
    assert not [is_put for _, is_put in counted if is_put]
    assert not world.requests("PUT", "flexibleServers")
    # Once it is permitted, the newest value is sent at once.
    annotate(world, **{MAINTENANCE_WINDOWS: None, ALLOWED_TYPES: None})
    world.settle(server)
    (sent,) = world.requests("PUT", "flexibleServers")
    assert sent.body["properties"]["administratorLoginPassword"] == f"Sesame-{CHANGES}"
