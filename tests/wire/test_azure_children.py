"""A parent's PUT beside writes of its children: whoever comes in between is not lost.

One test is of every family, as Azure answers it and as a provider without ETags does;
the others are of one with ETags and one without. What comes in between is run at the
very point where it hurts: nothing here depends on time.
"""

from typing import Any

import attrs
import pytest
from meanwhile import Meanwhile
from world import World, resource_group

from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.policies.confirmed_absence import (
    ASKED_AGAIN_SECONDS,
    UNKNOWN_CODE_SECONDS,
)
from asoreconcile.base.objects import GroupKind, annotations, dig

AT_ONCE = 0.01


@attrs.frozen
class Family:
    parent: GroupKind
    child: GroupKind
    field: str  # of the child's spec, and of the ARM body's properties
    values: tuple[Any, Any]
    spec: dict[str, Any] = attrs.field(factory=dict)
    rest: dict[str, Any] = attrs.field(factory=dict)


NETWORK, COMPUTE = "network.azure.com", "compute.azure.com"
FAMILIES = {
    "subnets": Family(
        GroupKind(NETWORK, "VirtualNetwork"),
        GroupKind(NETWORK, "VirtualNetworksSubnet"),
        "addressPrefix",
        ("10.0.1.0/24", "10.0.2.0/24"),
        {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}},
    ),
    "rules": Family(
        GroupKind(NETWORK, "NetworkSecurityGroup"),
        GroupKind(NETWORK, "NetworkSecurityGroupsSecurityRule"),
        "priority",
        (100, 200),
        rest={"access": "Allow", "direction": "Inbound", "protocol": "Tcp"},
    ),
    "routes": Family(
        GroupKind(NETWORK, "RouteTable"),
        GroupKind(NETWORK, "RouteTablesRoute"),
        "addressPrefix",
        ("10.1.0.0/16", "10.2.0.0/16"),
        rest={"nextHopType": "VnetLocal"},
    ),
    "nat rules": Family(
        GroupKind(NETWORK, "LoadBalancer"),
        GroupKind(NETWORK, "LoadBalancersInboundNatRule"),
        "frontendPort",
        (4201, 4202),
    ),
}
SCALE_SETS = Family(
    GroupKind(COMPUTE, "VirtualMachineScaleSet"),
    GroupKind(COMPUTE, "VirtualMachineScaleSetsExtension"),
    "typeHandlerVersion",
    ("1.0", "2.0"),
    rest={"publisher": "example", "type": "CustomScript"},
)


class Estate:
    """One parent, its children, and what happens in the middle of the parent's pass."""

    def __init__(self, world, family, meanwhile):
        self.world, self.family, self.meanwhile = world, family, meanwhile
        owner = {"owner": {"name": "rg"}, "location": "westeurope"}
        self.parent = manifest(family.parent, "parent", owner | family.spec)
        self.settled(self.parent)
        self.parent_id = annotations(world.read(self.parent))[RESOURCE_ID]

    def settled(self, obj):
        """Apply an object and see it Ready, and Azure done with it: some types say
        Succeeded long before.
        """
        self.world.settled(obj)
        self.world.clock.advance(30.0)

    def child(self, name, value):
        spec = {"owner": {"name": "parent"}, self.family.field: value}
        return manifest(self.family.child, name, spec | self.family.rest)

    def edit_parent(self, mark):
        spec = self.parent["spec"] | {"tags": {"mark": mark}}
        self.parent = self.parent | {"spec": spec}
        self.world.apply(self.parent)

    def shown(self, id_):
        found = self.world.azure.resources()
        return {key.lower(): body for key, body in found.items()}.get(id_.lower())

    def value(self, name):
        """What Azure has of a child; None if it has none."""
        collection = builtin().kind(self.family.child).version().types[-1]
        body = self.shown(f"{self.parent_id}/{collection}/{name}") or {}
        return dig(body, f"properties.{self.family.field}")

    def parent_puts(self):
        path = self.parent_id.lower()
        return [r for r in self.world.requests("PUT") if r.path.lower() == path]

    def in_between(self, act):
        """Run the parent's pass; `act` comes between its read and its PUT."""
        done = []

        def once():
            if not done:
                done.append(act())

        self.meanwhile.before_put = once
        try:
            result = self.world.run(self.parent)
        finally:
            self.meanwhile.before_put = lambda: None
        assert done
        return result


def manifest(group_kind, name, spec):
    version = builtin().kind(group_kind).version()
    return {
        "apiVersion": version.gvk.api_version,
        "kind": group_kind.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


ETAGS = [
    pytest.param((family, True), id=f"{name}, ETags")
    for name, family in FAMILIES.items()
]
TURNS = pytest.param((SCALE_SETS, False), id="scale set extensions, turns")
SUBNETS, RULES = (
    pytest.mark.parametrize("start", [one], indirect=True) for one in ETAGS[:2]
)
EITHER_WAY = pytest.mark.parametrize("start", [ETAGS[0], TURNS], indirect=True)


@pytest.fixture(
    scope="module",
    params=[
        *ETAGS,
        pytest.param((FAMILIES["subnets"], False), id="subnets, turns"),
        TURNS,
    ],
)
def start(request, module_path):
    family, etags = request.param
    meanwhile = Meanwhile(family.parent)
    with World(module_path, extensions=[meanwhile.set], lro=10.0) as world:
        arm_type = builtin().kind(family.parent).version().arm_type
        if not etags:
            world.azure.styles.change(arm_type, etag="")
        assert bool(world.azure.styles[arm_type].etag) is etags
        kinds = (f"{kind.group}/{kind.kind}" for kind in (family.parent, family.child))
        world.install("resources.azure.com/ResourceGroup", *kinds)
        world.settled(resource_group())
        yield Estate(world, family, meanwhile)


@pytest.fixture
def estate(start, start_state):
    start_state.restore()
    return start


def settle_both(estate, child):
    estate.world.settle(estate.parent)
    return estate.world.settle(child)


def test_a_child_that_is_edited_in_between_stays_edited(estate):
    old, new = estate.family.values
    child = estate.child("edited", old)
    estate.settled(child)
    estate.edit_parent("one")

    def edit():
        estate.world.apply(estate.child("edited", new))
        estate.world.run(child)

    assert estate.in_between(edit).requeue_after_seconds <= AT_ONCE
    settle_both(estate, child)
    assert estate.value("edited") == new
    assert dig(estate.shown(estate.parent_id), "tags.mark") == "one"


@EITHER_WAY
def test_a_child_that_is_made_in_between_is_there(estate):
    child = estate.child("made", estate.family.values[0])
    estate.edit_parent("one")

    def make():
        estate.world.apply(child)
        for _ in range(2):  # the claim, and the PUT
            estate.world.run(child)

    assert estate.in_between(make).requeue_after_seconds <= AT_ONCE
    settle_both(estate, child)
    assert estate.value("made") == estate.family.values[0]


@EITHER_WAY
@pytest.mark.parametrize("ended", [False, True], ids=["begun", "ended"])
def test_a_child_that_is_deleted_in_between_does_not_come_back(estate, ended):
    child = estate.child("deleted", estate.family.values[0])
    estate.settled(child)
    estate.edit_parent("one")

    def delete():
        estate.world.delete(child)
        estate.world.run(child)
        if ended:
            assert estate.world.settle(child) is None

    assert estate.in_between(delete).requeue_after_seconds <= AT_ONCE
    assert settle_both(estate, child) is None
    assert estate.value("deleted") is None
    assert dig(estate.shown(estate.parent_id), "tags.mark") == "one"


@EITHER_WAY
def test_a_child_on_its_way_out_is_not_put_back(estate):
    """It is listed still, and says that it is leaving."""
    staying = estate.child("staying", estate.family.values[0])
    leaving = estate.child("leaving", estate.family.values[1])
    for child in (staying, leaving):
        estate.settled(child)
    estate.world.delete(leaving)
    estate.world.run(leaving)
    assert estate.value("leaving") == estate.family.values[1]
    estate.edit_parent("one")
    assert settle_both(estate, leaving) is None
    assert estate.value("leaving") is None
    assert estate.value("staying") == estate.family.values[0]


@EITHER_WAY
def test_nothing_in_between_costs_no_further_put(estate):
    estate.settled(estate.child("quiet", estate.family.values[0]))
    before = len(estate.parent_puts())
    estate.edit_parent("one")
    estate.world.settle(estate.parent)
    assert len(estate.parent_puts()) == before + 1


@RULES
def test_who_is_overtaken_for_ever_is_told_so_and_backs_off(estate):
    """Somebody writes below the parent each time: no storm of PUTs, and no silence."""
    values = estate.family.values
    estate.settled(child := estate.child("busy", values[0]))
    turn = iter(range(100))

    def interfere():
        estate.world.apply(estate.child("busy", values[next(turn) % 2]))
        estate.world.run(child)
        estate.world.clock.advance(30.0)
        estate.world.settle(child)

    estate.edit_parent("one")
    waits = [estate.in_between(interfere).requeue_after_seconds for _ in range(7)]
    assert max(waits[:5]) <= AT_ONCE
    assert min(waits[5:]) >= 1.0
    assert estate.world.ready(estate.parent)["reason"] == "PreconditionFailed"
    estate.world.settle(estate.parent)
    assert dig(estate.shown(estate.parent_id), "tags.mark") == "one"


# A 404 for a resource that is there, and one for a resource that is not.


@pytest.fixture
def two_children(estate):
    """Two Ready children of a Ready parent, synced by reads; the woken are noted."""
    estate.woken = []
    estate.world.operator = attrs.evolve(
        estate.world.operator,
        sync_mode=SyncMode.COMPARE,
        wake_children=estate.woken.append,
    )
    children = [
        estate.child(name, value)
        for name, value in zip(("one", "two"), estate.family.values, strict=True)
    ]
    for child in children:
        estate.settled(child)
    sync(estate)
    return children


def sync(estate):
    """A sync of the parent, one hour later; return the Result."""
    estate.world.clock.advance(3600.0)
    return estate.world.run(estate.parent)


def not_found(estate, code, *, path="", times=1):
    path = f"{path or estate.parent_id}$"
    estate.world.azure.faults.answer("GET", path, 404, code=code, times=times)


def is_ready(estate, obj):
    return estate.world.ready(obj)["status"] == "True"


@SUBNETS
@pytest.mark.parametrize("code", ["ResourceNotFound", "NotFound", "NeverSeen"])
def test_v11_one_false_404_is_followed_by_no_put(estate, two_children, code):
    before = len(estate.parent_puts())
    not_found(estate, code)
    result = sync(estate)
    said = code != "NeverSeen"
    pause = ASKED_AGAIN_SECONDS if said else UNKNOWN_CODE_SECONDS
    assert result.requeue_after_seconds == pause
    assert is_ready(estate, estate.parent)
    estate.world.clock.advance(pause)
    estate.world.settle(estate.parent)
    assert len(estate.parent_puts()) == before
    assert [estate.value(name) for name in ("one", "two")] == [*estate.family.values]
    # The next false 404, an hour later, begins again.
    not_found(estate, code)
    assert sync(estate).requeue_after_seconds == pause
    assert len(estate.parent_puts()) == before


@EITHER_WAY
@pytest.mark.parametrize("mode", [SyncMode.COMPARE, SyncMode.PUT])
def test_v11_no_put_while_the_list_has_what_a_get_denies(estate, two_children, mode):
    estate.world.operator = attrs.evolve(estate.world.operator, sync_mode=mode)
    before = len(estate.parent_puts())
    not_found(estate, "ResourceNotFound", times=1000)
    result = sync(estate)
    for _ in range(5):
        estate.world.clock.advance(result.requeue_after_seconds)
        result = estate.world.run(estate.parent)
    assert len(estate.parent_puts()) == before
    assert "but its list has it" in estate.world.ready(estate.parent)["message"]
    assert [estate.value(name) for name in ("one", "two")] == [*estate.family.values]
    estate.world.azure.faults.clear()
    estate.world.clock.advance(result.requeue_after_seconds)
    estate.world.settle(estate.parent)
    assert [estate.value(name) for name in ("one", "two")] == [*estate.family.values]


@EITHER_WAY
def test_v11_an_edit_during_a_false_404_waits_too(estate, two_children):
    not_found(estate, "ResourceNotFound")
    estate.edit_parent("one")
    before = len(estate.parent_puts())
    result = estate.world.run(estate.parent)
    assert len(estate.parent_puts()) == before
    estate.world.clock.advance(result.requeue_after_seconds)
    estate.world.settle(estate.parent)
    assert dig(estate.shown(estate.parent_id), "tags.mark") == "one"
    assert [estate.value(name) for name in ("one", "two")] == [*estate.family.values]


@EITHER_WAY
def test_v11_no_put_while_the_list_cannot_be_read(estate, two_children):
    before = len(estate.parent_puts())
    not_found(estate, "ResourceNotFound", times=1000)
    collection = estate.parent_id.rpartition("/")[0]
    faults = estate.world.azure.faults
    faults.answer("GET", f"{collection}$", 503, code="Unavailable", times=1000)
    result = sync(estate)
    for _ in range(4):
        estate.world.clock.advance(result.requeue_after_seconds)
        result = estate.world.run(estate.parent)
    assert len(estate.parent_puts()) == before
    assert not is_ready(estate, estate.parent)


@EITHER_WAY
def test_v11_what_is_gone_is_made_again_and_its_children_with_it(estate, two_children):
    world = estate.world
    world.azure.remove(estate.parent_id)
    result = sync(estate)
    assert len(estate.woken) == 1  # before the PUT, as we may die after it
    world.clock.advance(result.requeue_after_seconds)
    world.run(estate.parent)
    assert len(estate.woken) == 2
    for child in two_children:
        world.run(child)
        # Ready as soon as it is back, and not before.
        is_back = estate.value(child["metadata"]["name"]) is not None
        assert is_back or not is_ready(estate, child)
    world.settle(estate.parent)
    for child in two_children:
        estate.settled(child)
    assert [estate.value(name) for name in ("one", "two")] == [*estate.family.values]
