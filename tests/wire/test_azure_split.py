"""Two Deployments share a cluster by namespaces, each with a principal of its own.

What a Deployment is to Azure and to the objects is here: settings, credential, budget
and memory of its own, over one API server and one subscription that throttles each
principal. Time is the clock's.
"""

import heapq

import attrs
import pytest
from azure.core.credentials import AccessToken
from globalconnection import GlobalConnection
from world import SYNC_SECONDS, World, resource_group

from asoreconcile.azure.arm.budget import Budget
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.reconcile.engine.reconciler import ArmReconciler
from asoreconcile.azure.reconcile.model.annotations import OPERATOR_NAMESPACE
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.base.objects import ObjectKey, status
from asoreconcile.kube.resources import NAMESPACES
from asoreconcile.runtime.reconciler import Request
from asoreconcile.testing.arm import throttling
from asoreconcile.testing.arm.throttling import Size

GROUPS = "resources.azure.com/ResourceGroup"
TEAMS = ("team-a", "team-b")
OBJECTS = 80
# As Azure's, but for a burst that is over at once.
BURST, REFILL_PER_SECOND = 5, 10


@pytest.fixture
def world(tmp_path, monkeypatch):
    small = Size(BURST, REFILL_PER_SECOND)
    monkeypatch.setitem(throttling.PUBLISHED, "writes", small)
    with World(tmp_path, throttle=True) as running:
        running.install(GROUPS)
        for team in TEAMS:
            running.client.create(NAMESPACES, {"metadata": {"name": team}})
        yield running


class Deployment:
    """A release of the chart: its namespaces, its principal, and what it remembers."""

    def __init__(self, world, name, namespaces):
        self.name = name
        self.namespaces = set(namespaces)
        self._world = world
        token = world.azure.entra.issue(f"{name}-principal")

        class Credential:
            def get_token(self, *scopes, **options):
                return AccessToken(token, 1 << 40)

        self.arm = ArmClient(
            world.azure.url,
            Credential(),
            scope="s",
            clock=world.clock,
            budget=Budget(world.clock, jitter=lambda: 0.5),
            user_agent=name,
        )
        self._operator = attrs.evolve(
            world.make_operator(namespace=name),
            sync_mode=SyncMode.COMPARE,
            connections=GlobalConnection(
                self.arm, subscription_id=world.azure.subscription_id, source=name
            ),
        )
        self._kind = world.fresh_kind(resource_group())

    def run(self, key):
        assert key.namespace in self.namespaces
        reader = self._world.reader(self._kind)
        reconciler = ArmReconciler(self._operator, self._kind, reader)
        return reconciler.reconcile(Request(key)).requeue_after_seconds

    def writes(self):
        return [r for r in self.requests() if r.method in ("PUT", "PATCH", "DELETE")]

    def requests(self):
        journal = self._world.azure.journal
        return [r for r in journal if self.name in r.headers["user-agent"]]


@pytest.fixture
def deploy(world):
    made = []

    def make(name, *namespaces):
        made.append(Deployment(world, name, namespaces))
        return made[-1]

    yield make
    for one in made:
        one.arm.close()


def apply(world, count, owners, name="rg"):
    """Objects in both teams' namespaces; who works on each: its Deployment."""
    work = {}
    for number in range(count):
        namespace = TEAMS[number % 2]
        manifest = resource_group(name=f"{name}-{number}")
        manifest["metadata"]["namespace"] = namespace
        owner = next(one for one in owners if namespace in one.namespaces)
        notes = {OPERATOR_NAMESPACE: owner.name}
        manifest["metadata"]["annotations"] = notes
        world.apply(manifest)
        work[ObjectKey(namespace, f"{name}-{number}")] = owner
    return work


def read(world, key):
    return world.client.get(world.resource_for(resource_group()), key)


def is_ready(world, key):
    ready = find_ready(status(read(world, key)).get("conditions"))
    return bool(ready) and ready["status"] == "True"


def converge(world, work):
    """Seconds until all are Ready: each is run when its Deployment's queue would."""
    started = world.clock.monotonic()
    due = [(started, order, key) for order, key in enumerate(work)]
    order = len(due)
    while due:
        at, _, key = heapq.heappop(due)
        world.clock.advance(max(at - world.clock.monotonic(), 0.0))
        again = work[key].run(key)
        if again is not None and again < SYNC_SECONDS / 2:
            order += 1
            heapq.heappush(due, (world.clock.monotonic() + again, order, key))
    assert all(is_ready(world, key) for key in work)
    return world.clock.monotonic() - started


@pytest.mark.long  # thousands of requests
@pytest.mark.timeout(600)
def test_two_deployments_write_twice_as_fast_as_one_and_share_no_object(world, deploy):
    one = deploy("alone", *TEAMS)
    alone = converge(world, apply(world, OBJECTS, [one]))
    assert len(one.writes()) == OBJECTS
    ideal = (OBJECTS - BURST) / REFILL_PER_SECOND
    assert ideal <= alone < 1.3 * ideal
    a, b = deploy("operator-a", "team-a"), deploy("operator-b", "team-b")
    world.clock.advance(60.0)  # every bucket is full again
    both = converge(world, apply(world, OBJECTS, [a, b], "more"))
    assert both < 0.55 * alone
    mine = [{r.resource for r in each.requests()} for each in (a, b)]
    assert not mine[0] & mine[1]
    assert [len(each.writes()) for each in (a, b)] == [OBJECTS / 2] * 2
    assert not [r for r in world.azure.journal if r.status == 429]


def test_a_namespace_moves_to_another_deployment_without_a_write_to_azure(
    world, deploy
):
    a, b = deploy("operator-a", *TEAMS), deploy("operator-b")
    work = apply(world, 8, [a])
    converge(world, work)
    before = {key: read(world, key) for key in work}
    world.azure.journal.clear()
    # As deploy/docs/scale.md says: the old release lets go, the objects are marked, the new
    # release takes the namespace.
    a.namespaces.remove("team-b")
    moving = [key for key in work if key.namespace == "team-b"]
    for key in moving:
        body = {"metadata": {"annotations": {OPERATOR_NAMESPACE: b.name}}}
        world.client.patch(world.resource_for(resource_group()), key, body)
    b.namespaces.add("team-b")
    # Each has its place in the period by its uid, and is as its note says: it waits.
    for key in moving:
        assert 0 < b.run(key) <= SYNC_SECONDS * 1.25
    assert not b.requests()
    assert not a.requests()
    for key in moving:
        assert status(read(world, key)) == status(before[key])
    # From here on they are the new one's: what it is told it does.
    key = moving[0]
    body = {"spec": {"tags": {"moved": "yes"}}}
    world.client.patch(world.resource_for(resource_group()), key, body)
    while status(read(world, key)).get("tags") != {"moved": "yes"}:
        b.run(key)
        world.clock.advance(1.0)
    assert [r.method for r in b.writes()] == ["PUT"]
    assert not a.requests()


def test_an_object_of_the_other_deployment_is_left_alone(world, deploy):
    """Should both look at a namespace by mistake, the mark on each object decides."""
    a, b = deploy("operator-a", *TEAMS), deploy("operator-b", *TEAMS)
    work = apply(world, 4, [a])
    converge(world, work)
    world.azure.journal.clear()
    for key in work:
        assert b.run(key) is None
    assert not b.requests()
    assert {reason for _, _, reason, _ in world.events} >= {"Overlap"}
