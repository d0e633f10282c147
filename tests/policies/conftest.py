"""One world for the tests of all policies, and the removal of a policy.

ASORECONCILE_WITHOUT_POLICY=NAME takes the lines of a policy out of `order`, as deleting
them does: then the tests in the folder NAME fail, and no others (`test_removal`).
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
from startstate import StartState
from world import World, resource_group, virtual_network

from asoreconcile.azure.reconcile.engine.reconciler import ArmReconciler
from asoreconcile.azure.reconcile.model.decisions import Put
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.policies import order
from asoreconcile.azure.reconcile.policies.drift import put_unread
from asoreconcile.azure.reconcile.policies.requests import DecidedPut, Intent
from asoreconcile.azure.reconcile.state.read_set import ReadSet
from asoreconcile.azure.reconcile.sync.look import Look
from asoreconcile.base.objects import JsonObject
from asoreconcile.base.reconcile_context import Context, running

NETWORK = virtual_network()


def pytest_configure(config: pytest.Config) -> None:
    if name := os.environ.get("ASORECONCILE_WITHOUT_POLICY"):
        take_out(name)


def take_out(name: str) -> None:
    """Remove the lines of a policy from all lists."""
    taken = 0
    for place, phases in vars(order).copy().items():
        if place.isupper() and isinstance(phases, tuple):
            left = tuple(one for one in phases if policy_of(one) != name)
            taken += len(phases) - len(left)
            setattr(order, place, left)
    assert taken, f"no line of {name}"


def policy_of(phase: Callable[..., Any]) -> str:
    return phase.__module__.rpartition(".")[2]


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("policies")) as running_world:
        running_world.operator = attrs.evolve(
            running_world.operator, sync_mode=SyncMode.COMPARE
        )
        running_world.install(
            "resources.azure.com/ResourceGroup",
            "managedidentity.azure.com/UserAssignedIdentity",
            "network.azure.com/NatGateway",
            "network.azure.com/PublicIPAddress",
            "network.azure.com/VirtualNetwork",
        )
        for obj in (resource_group(), NETWORK):
            running_world.settled(obj)
        running_world.azure.journal.clear()
        yield running_world


@pytest.fixture(scope="session")
def start_state(start: World) -> StartState:
    return StartState(start)


class Reconcile:
    """One reconcile of an object, from its scope to any list of `order`."""

    def __init__(self, world: World, obj: JsonObject) -> None:
        kind = world.kind_of(obj)
        reconciler = ArmReconciler(world.operator, kind, world.reader(kind))
        self.scope = reconciler._scope(world.read(obj), ReadSet())

    def permit(self, *, is_delete: bool = False) -> None:
        order.permit(self.scope, is_delete=is_delete)

    def intent(self) -> Intent:
        parent: Any = None  # no parent is read
        intent = Intent.of(self.scope, parent)
        return attrs.evolve(intent, owner=self.scope.owner())

    def put(self) -> DecidedPut:
        intent = self.intent()
        seen = put_unread(intent)
        assert isinstance(seen, Look)
        assert isinstance(seen.decided.then, Put)
        return DecidedPut(intent, seen.made, seen.decided.then, seen.decided.effects)


@pytest.fixture
def reconcile(world: World) -> Iterator[Callable[..., Reconcile]]:
    """A function that begins a reconcile of an object."""
    with running(Context(world.clock)):
        yield lambda obj=NETWORK: Reconcile(world, obj)
