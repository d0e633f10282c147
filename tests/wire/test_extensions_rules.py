"""Extensions that break the rules of their point write nothing, and are named."""

import pytest
from world import World, resource_group, virtual_network

from asoreconcile.azure.arm.condition_error import RetryClass
from asoreconcile.azure.middleware.extension_points import (
    CLASSIFY_ERROR,
    DELETE,
    EVERY_SUCCESS,
    EXPORT_CONFIG_MAPS,
    EXPORT_SECRETS,
    MODIFY_PAYLOAD,
    POST_RECONCILE,
    PRE_RECONCILE,
    PRE_RECONCILE_OWNER,
)
from asoreconcile.azure.middleware.extension_set import ExtensionSet
from asoreconcile.azure.middleware.requests import NotReady
from asoreconcile.base.objects import GroupKind

GROUPS = "resources.azure.com/ResourceGroup"
NETWORK = GroupKind("network.azure.com", "VirtualNetwork")
BEFORE_A_PUT = (PRE_RECONCILE_OWNER, PRE_RECONCILE, MODIFY_PAYLOAD)
AFTER_A_PUT = (POST_RECONCILE, EXPORT_SECRETS, EXPORT_CONFIG_MAPS, EVERY_SUCCESS)


@pytest.fixture
def made(tmp_path):
    """Makes a world with one extension of networks, and a settled group in it."""
    worlds = []

    def make(point, run):
        extensions = ExtensionSet("odd-set")
        extensions.on(point, NETWORK)(run)
        world = World(tmp_path, extensions=[extensions])
        worlds.append(world.__enter__())
        world.install(GROUPS, "network.azure.com/VirtualNetwork")
        world.settled(resource_group())
        return world

    yield make
    for world in worlds:
        world.__exit__(None, None, None)


def returns_nothing(req, call_next):
    call_next(req)


def crashes(req, call_next):
    raise KeyError("s3cr3t-c4n4ry")


def puts(world):
    return world.requests("PUT", "virtualNetworks/vnet")


def is_named(text, point):
    return all(one in text for one in (__name__, "odd-set", f"point {point.name}"))


@pytest.mark.parametrize("run", [returns_nothing, crashes])
@pytest.mark.parametrize(
    "point", [*BEFORE_A_PUT, *AFTER_A_PUT], ids=lambda point: point.name
)
def test_an_extension_that_fails_is_named_in_condition_event_and_log(
    made, point, run, caplog
):
    world = made(point, run)
    world.apply(virtual_network())
    while not [e for e in world.events if e[2] == "CreateOrUpdateActionError"]:
        world.clock.advance(world.run(virtual_network()).requeue_after_seconds)
    ready = world.ready(virtual_network())
    assert (ready["status"], ready["reason"]) == ("False", "Failed")
    assert is_named(ready["message"], point)
    assert run.__name__ in ready["message"]
    (event,) = [e for e in world.events if e[2] == "CreateOrUpdateActionError"]
    assert is_named(event[3], point)
    (line,) = [r for r in caplog.records if r.msg.startswith("Extension failed")]
    assert line.exc_info
    assert len(puts(world)) == (0 if point in BEFORE_A_PUT else 1)
    assert "s3cr3t-c4n4ry" not in ready["message"] + event[3]


def test_an_extension_of_a_deletion_that_fails_keeps_the_finalizer(made):
    world = made(DELETE, lambda req, call_next: None)
    obj = world.settled(virtual_network())
    world.delete(obj)
    world.run(obj)
    assert is_named(world.ready(obj)["message"], DELETE)
    assert not world.requests("DELETE", "virtualNetworks/vnet")


def test_a_classification_that_fails_leaves_azure_s_error_readable(made):
    world = made(CLASSIFY_ERROR, returns_nothing)
    world.azure.faults.answer("PUT", "virtualNetworks/vnet", 409, code="Conflict")
    world.apply(virtual_network())
    world.run(virtual_network())
    ready = world.ready(virtual_network())
    assert (ready["reason"], ready["severity"]) == ("Conflict", "Warning")
    assert is_named(ready["message"], CLASSIFY_ERROR)


@pytest.mark.parametrize(
    ("failed", "delays", "events"),
    [
        (NotReady("approve it"), (1.0, 2.0), {"Warning"}),
        (
            NotReady("approve it", severity="Info", reason="AwaitingApproval"),
            (1.0, 2.0),
            set(),
        ),
        (
            NotReady("approve it", severity="Error", reason="Rejected"),
            (3600.0, 3600.0),
            {"Warning"},
        ),
        (
            NotReady("approve it", reason="Slow", retry=RetryClass.VERY_SLOW),
            (3600.0, 3600.0),
            {"Warning"},
        ),
    ],
    ids=["default", "info", "error", "very slow"],
)
def test_a_post_check_gives_severity_reason_and_retry_class(
    made, failed, delays, events
):
    answers = []
    world = made(
        POST_RECONCILE,
        lambda req, call_next: failed if answers else call_next(req),
    )
    obj = world.settled(virtual_network())
    answers.append(failed)
    world.clock.advance(3600.0)
    assert [world.run(obj).requeue_after_seconds for _ in range(2)] == list(delays)
    ready = world.ready(obj)
    assert (ready["status"], ready["severity"]) == ("False", failed.severity)
    assert (ready["reason"], ready["message"]) == (failed.reason, "approve it")
    told = {e[1] for e in world.events if e[2] == "CreateOrUpdateActionError"}
    assert told == events
    answers.clear()
    world.settle(obj)
