"""Parts of a resource that leave the spec leave Azure; foreign ones stay."""

from unittest import mock

import attrs
import pytest
from world import World, resource_group

from asoreconcile.azure.middleware.declared import names_at
from asoreconcile.azure.reconcile.model.annotations import POLLER_ID, RESOURCE_ID
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.base.objects import annotations, copy_json

GROUPS = "resources.azure.com/ResourceGroup"
ACCOUNTS = "documentdb.azure.com/DatabaseAccount"
BALANCERS = "network.azure.com/LoadBalancer"
ROOT = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg/providers"
IDENTITIES = "identity.userAssignedIdentities"
MODES = pytest.mark.parametrize("mode", ["compare", "put"])


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        running.install(GROUPS, ACCOUNTS, BALANCERS)
        running.operator = attrs.evolve(running.operator, sync_mode=SyncMode.COMPARE)
        running.settled(resource_group())
        yield running


def in_mode(world, mode):
    world.operator = attrs.evolve(world.operator, sync_mode=SyncMode(mode))


def identity(name):
    return f"{ROOT}/Microsoft.ManagedIdentity/userAssignedIdentities/{name}"


def account(*identities):
    references = [{"reference": {"armId": identity(name)}} for name in identities]
    kind = {"type": "UserAssigned", "userAssignedIdentities": references}
    return {
        "apiVersion": "documentdb.azure.com/v1api20240815",
        "kind": "DatabaseAccount",
        "metadata": {"name": "docs"},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "databaseAccountOfferType": "Standard",
            "locations": [{"locationName": "westeurope"}],
            **({"identity": kind} if identities else {}),
        },
    }


def balancer(*rules):
    return {
        "apiVersion": "network.azure.com/v20250301",
        "kind": "LoadBalancer",
        "metadata": {"name": "front"},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "inboundNatRules": [
                {"name": name, "protocol": "Tcp", "frontendPort": 80 + index}
                for index, name in enumerate(rules)
            ],
        },
    }


def arm_id(world, obj):
    return annotations(world.read(obj))[RESOURCE_ID]


def in_azure(world, obj):
    return world.azure.resources()[arm_id(world, obj)]


def by_hand(world, obj, body):
    world.azure.seed(arm_id(world, obj), body)


class Merging:
    """An Azure that merges the identities of a PUT into those that it has."""

    def __init__(self, world, *, keeps=()):
        self._world, self._keeps, self._put = world, keeps, world.arm.put
        world.arm.put = self.put

    def put(self, arm_id, api_version, body, **options):
        before = self._world.azure.resources().get(arm_id) or {}
        outcome = self._put(arm_id, api_version, body, **options)
        after = self._world.azure.resources()[arm_id]
        asked = (body.get("identity") or {}).get("userAssignedIdentities") or {}
        merged = {name: {} for name in names_at(before, IDENTITIES)}
        for name, value in asked.items():
            merged[name] = {}
            if value is None and name not in self._keeps:
                del merged[name]
        shown = {"type": "UserAssigned", "userAssignedIdentities": merged}
        self._world.azure.seed(arm_id, {**after, "identity": shown})
        return outcome


def left(world, obj):
    names = names_at(in_azure(world, obj), IDENTITIES)
    return {name.rpartition("/")[2] for name in names}


def sync(world, obj):
    world.clock.advance(3600.0)
    world.azure.journal.clear()
    world.settle(obj)
    return [request.method for request in world.azure.journal]


@MODES
@pytest.mark.parametrize("after", [("one",), ()], ids=["one of two", "all"])
def test_an_identity_that_left_the_spec_is_taken_where_azure_merges(world, mode, after):
    in_mode(world, mode)
    Merging(world)
    docs = world.settled(account("one", "two"))
    assert left(world, docs) == {"one", "two"}
    world.apply(account(*after)) if after else replace(world, docs, account())
    world.settle(docs)
    assert left(world, docs) == set(after)
    in_mode(world, "compare")
    assert sync(world, docs) == ["GET"]


def replace(world, docs, wanted):
    """Take a member out of the spec, which apply does not do for another manager."""
    resource = world.resource_for(docs)
    stored = world.read(docs)
    stored["spec"].pop("identity")
    assert "identity" not in wanted["spec"]
    world.client.replace(resource, stored)


def test_a_foreign_identity_stays(world):
    Merging(world)
    docs = world.settled(account("one", "two"))
    body = in_azure(world, docs)
    theirs = {**body["identity"]["userAssignedIdentities"], identity("theirs"): {}}
    shown = {**body["identity"], "userAssignedIdentities": theirs}
    by_hand(world, docs, {**body, "identity": shown})
    world.apply(account("two"))
    world.settle(docs)
    assert left(world, docs) == {"two", "theirs"}


def test_an_identity_that_azure_does_not_give_up_is_shown_for_as_long(world):
    Merging(world, keeps=[identity("one")])
    docs = world.settled(account("one", "two"))
    world.apply(account("two"))
    world.settle(docs)
    assert left(world, docs) == {"one", "two"}
    for _ in range(3):
        assert sync(world, docs) == ["GET"]
        assert world.ready(docs)["status"] == "True"
        (drifted,) = [
            one
            for one in world.read(docs)["status"]["conditions"]
            if one["type"] == "Drifted"
        ]
        assert "userAssignedIdentities" in drifted["message"]
    world.apply(account("one", "two"))
    world.settle(docs)
    shown = {one["type"] for one in world.read(docs)["status"]["conditions"]}
    assert shown == {"Claim", "Ready"}


@MODES
def test_a_list_of_rules_that_left_the_spec_is_emptied_where_azure_keeps_it(
    world, mode
):
    in_mode(world, mode)
    docs, put = account(), world.arm.put
    theirs = [{"allowedOrigins": "https://theirs"}]
    docs["spec"] |= {"ipRules": [{"ipAddressOrRange": "1.1.1.1"}]}

    def keeping(arm_id, version, body, **options):
        before = world.azure.resources().get(arm_id, {}).get("properties", {})
        kept = {n: before[n] for n in ("ipRules", "cors") if n in before}
        body = {**body, "properties": {**kept, **body["properties"]}}
        return put(arm_id, version, body, **options)

    with mock.patch.object(world.arm, "put", keeping):
        world.settled(docs)
        body = copy_json(in_azure(world, docs))
        body["properties"]["cors"] = theirs
        by_hand(world, docs, body)
        world.apply(account())
        world.settle(docs)
    shown = in_azure(world, docs)["properties"]
    assert (shown["ipRules"], shown["cors"]) == ([], theirs)


@pytest.mark.parametrize("mode", ["compare", "put", "report"])
@pytest.mark.parametrize("syncs", [0, 1, 3])
def test_access_that_azure_leaves_open_is_shown_for_as_long(world, mode, syncs):
    """Also at once, as there may be no sync, and with other drift."""
    in_mode(world, mode)
    docs = account()
    docs["spec"] |= {"publicNetworkAccess": "Disabled", "disableLocalAuth": True}
    put, opened = world.arm.put, {"publicNetworkAccess": "Enabled"}

    def opening(arm_id, version, body, **options):
        body = {**body, "properties": {**body["properties"], **opened}}
        return put(arm_id, version, body, **options)

    with mock.patch.object(world.arm, "put", opening):
        world.settled(docs)
        for _ in range(syncs):
            to_rest(world, docs)
        assert "publicNetworkAccess" in drifted(world, docs)
        body = copy_json(in_azure(world, docs))
        body["properties"]["databaseAccountOfferType"] = "Other"
        by_hand(world, docs, body)
        to_rest(world, docs)
        assert "publicNetworkAccess" in drifted(world, docs)
    assert world.ready(docs)["status"] == "True"


def to_rest(world, obj):
    """A sync, and the end of the operation of its PUT."""
    sync(world, obj)
    while POLLER_ID in annotations(world.read(obj)):
        world.clock.advance(world.run(obj).requeue_after_seconds)


def drifted(world, obj):
    conditions = world.read(obj)["status"]["conditions"]
    return "".join(one["message"] for one in conditions if one["type"] == "Drifted")


@MODES
@pytest.mark.parametrize("after", [("first",), ()], ids=["one of two", "all"])
def test_a_nat_rule_that_left_the_spec_is_removed_and_foreign_ones_stay(
    world, mode, after
):
    in_mode(world, mode)
    front = world.settled(balancer("first", "second"))
    body = in_azure(world, front)
    theirs = {"name": "theirs", "properties": {"protocol": "Udp", "frontendPort": 53}}
    body["properties"]["inboundNatRules"] += [theirs]
    by_hand(world, front, body)
    world.apply(balancer(*after))
    world.settle(front)
    assert rules(world, front) == {*after, "theirs"}
    if mode == "compare":
        assert sync(world, front) == ["GET"]


def test_the_last_nat_rule_is_removed_by_an_empty_list(world):
    front = world.settled(balancer("only"))
    world.apply(balancer())
    world.settle(front)
    assert rules(world, front) == set()


@pytest.mark.parametrize("applied", [True, False])
def test_a_rule_is_removed_though_the_first_put_fails(world, applied):
    front = world.settled(balancer("first", "second"))
    if applied:
        world.azure.faults.time_out("PUT", "loadBalancers/front", applied=False)
    else:
        world.azure.faults.answer("PUT", "loadBalancers/front", 409, code="Conflict")
    world.apply(balancer("first"))
    world.run(front)
    world.restart()
    world.settle(front)
    assert rules(world, front) == {"first"}


def rules(world, front):
    listed = in_azure(world, front)["properties"].get("inboundNatRules") or []
    return {rule["name"] for rule in listed}
