"""A pass that Azure does not answer comes to an end (D9)."""

import pytest
from azure.core.pipeline.transport import HttpRequest
from world import World, resource_group

from asoreconcile.azure.arm.transport import ArmTransport
from asoreconcile.base.reconcile_context import Context, running
from asoreconcile.wire.handle import Patience
from asoreconcile.wire.pool import HandlePool


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as one:
        one.install("resources.azure.com/ResourceGroup")
        yield one


@pytest.fixture
def group(world):
    obj = resource_group()
    world.apply(obj)
    return obj


def run(world, obj, *, seconds):
    """A pass that may take so long; real time for the wire, the clock stands."""
    deadline = world.clock.monotonic() + seconds
    with running(Context(world.clock, "a-pass", deadline=deadline)):
        return world.run(obj)


def test_d9_a_request_without_an_answer_ends_with_its_pass(world, group):
    put = world.azure.faults.hold(method="PUT", path="resourceGroups/rg$")
    result = run(world, group, seconds=2.0)
    put.drop()
    ready = world.ready(group)
    assert (ready["status"], ready["reason"]) == ("False", "UnknownError")
    assert "timed out" in ready["message"].lower()
    assert result.requeue_after_seconds == 1.0
    world.settle(group)


def test_d9_nothing_is_sent_after_the_end(world, group):
    run(world, group, seconds=0.0)
    assert world.azure.journal == []
    assert "used up its time" in world.ready(group)["message"]
    run(world, group, seconds=60.0)
    assert world.ready(group)["status"] == "True"


def test_d9_without_a_pass_requests_have_time_outs_of_their_own(world, monkeypatch):
    given = []
    whole = HandlePool.exchange

    def noted(pool, request, **options):
        given.append(options["patience"])
        return whole(pool, request, **options)

    monkeypatch.setattr(HandlePool, "exchange", noted)
    with ArmTransport(url=world.azure.url) as transport:
        transport.send(HttpRequest("GET", world.azure.url))
    assert given == [Patience(connect=10, silence=90, body=120.0)]
