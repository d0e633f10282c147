"""Kinds that start, fail to start, stop and are started anew."""

import threading
from queue import Empty, Queue

import attrs
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from asoreconcile.azure.catalogue.storage_codec import SingleVersionCodec
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.crd_watcher import (
    ALL_KINDS,
    CrdWatcher,
    controller_options,
)
from asoreconcile.azure.controllers.definitions import CrdState
from asoreconcile.azure.controllers.kind_metrics import KindGauge
from asoreconcile.azure.controllers.kind_registry import KindRegistry, RunningKind
from asoreconcile.azure.controllers.leader_note import LeaderNote, leader_note
from asoreconcile.azure.controllers.lifecycle import Lifecycle
from asoreconcile.azure.reconcile.state.read_set import InFlightReads
from asoreconcile.base import reconcile_context
from asoreconcile.base.objects import GroupKind, ObjectKey
from asoreconcile.base.threads import Threads
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added
from asoreconcile.runtime.controller import Controller
from asoreconcile.runtime.reconciler import Result
from asoreconcile.runtime.sources import Watch
from asoreconcile.testing.clock import FakeClock

PATIENCE = 30.0
VNET = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
SUBNET = builtin().kind(GroupKind("network.azure.com", "VirtualNetworksSubnet"))
NEW, OLD = VNET.versions[0], VNET.versions[-1]
SERVED = CrdState(frozenset({NEW}))
KEY = ObjectKey("ns", "net")


class Cache:
    """An informer that has synced, with one object."""

    def __init__(self, *, broken=False):
        self.broken = broken
        self.started = self.stopped = False
        self.removed = threading.Event()

    def start(self):
        if self.broken:
            raise RuntimeError("can't start new thread")
        self.started = True

    def ask_to_stop(self):
        self.stopped = True

    def add_handler(self, handler, *, resync_seconds=0.0):
        meta = {"namespace": KEY.namespace, "name": KEY.name, "resourceVersion": "1"}
        handler(Added(Entry({"metadata": meta}), initial=True))
        return self

    def has_synced(self):
        return True

    def remove(self):
        self.removed.set()


class Passes:
    """A reconciler whose passes last until they are let go; notes how many at once."""

    def __init__(self):
        self.started = Queue()
        self.lock = threading.Lock()
        self.running = self.most = 0
        self.all = []
        self.free = False
        self.cut_off = 0

    def remove_finalizer(self):
        with self.lock:
            self.free = True
            for go_on in self.all:
                go_on.set()

    def reconcile(self, request):
        go_on = threading.Event()
        with self.lock:
            self.running += 1
            self.all.append(go_on)
            if self.free:
                go_on.set()
            self.most = max(self.most, self.running)
        self.started.put(go_on)
        assert go_on.wait(PATIENCE)
        self.cut_off += reconcile_context.current().is_stopping
        with self.lock:
            self.running -= 1
        return Result()


@attrs.define
class World:
    clock: FakeClock
    threads: Threads
    kinds: KindRegistry
    lifecycle: Lifecycle
    passes: Passes
    caches: list
    forgotten: list
    broken: set = attrs.field(factory=set)
    looks: Queue = attrs.field(factory=Queue)


@pytest.fixture
def world():
    clock = FakeClock()
    kinds, passes, caches, forgotten = KindRegistry(), Passes(), [], []

    def build(version):
        step = made.broken and version.gvk.kind in made.broken
        if step and "start" not in made.broken:
            raise KeyError("no such table")
        cache = Cache(broken=bool(step))
        caches.append(cache)
        controller = Controller(version.gvk.kind, passes, clock=clock)
        controller.watch(Watch(cache))
        return RunningKind(
            version,
            cache,
            controller,
            SingleVersionCodec(version),
            InFlightReads(lambda _: None),
            None,
        )

    threads = Threads(clock)
    made = World(clock, threads, kinds, None, passes, caches, forgotten)
    made.lifecycle = Lifecycle(
        kinds,
        build,
        forgotten.append,
        clock=clock,
        threads=threads,
    )
    made.lifecycle.on_failure = lambda: made.looks.put(1)
    yield made
    passes.remove_finalizer()
    made.lifecycle.stop(0)


def names(world):
    return {group_kind.kind for group_kind in world.kinds.running()}


@pytest.mark.parametrize("at", ["build", "start"])
def test_one_kind_s_failure_to_start_leaves_the_others_of_its_batch_running(
    world, at, caplog
):
    world.broken = {"VirtualNetwork", at}
    failed = world.lifecycle.begin([VNET.version(), SUBNET.version()])
    assert set(failed) == {VNET.group_kind}
    assert failed[VNET.group_kind] in {"KeyError", "RuntimeError"}
    assert names(world) == {"VirtualNetworksSubnet"}
    assert world.caches[-1].started
    assert "Kind failed to start" in caplog.text
    world.broken = set()
    assert world.lifecycle.begin([VNET.version()]) == {}
    assert names(world) == {"VirtualNetwork", "VirtualNetworksSubnet"}
    assert world.looks.empty()  # who called `begin` knows


def test_a_kind_whose_controller_cannot_start_is_left_to_be_begun_anew(
    world, monkeypatch
):
    world.lifecycle.begin([VNET.version(), SUBNET.version()])
    controller = world.kinds.running()[VNET.group_kind].controller

    def refuse():
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(controller, "start", refuse)
    world.lifecycle.start()
    assert names(world) == {"VirtualNetworksSubnet"}
    assert world.looks.get(timeout=PATIENCE)
    world.passes.started.get(timeout=PATIENCE).set()


def handed_over(world):
    """A kind at work at one version, and begun anew at another."""
    lifecycle = world.lifecycle
    lifecycle.start()
    lifecycle.begin([VNET.version(NEW)])
    first = world.passes.started.get(timeout=PATIENCE)
    ending = threading.Thread(target=lifecycle.end, args=[VNET.group_kind])
    ending.start()
    world.clock.until_waiting()
    world.clock.advance(0.2)
    ending.join(PATIENCE)
    assert lifecycle.begin([VNET.version(OLD)]) == {}
    return first


def test_the_controller_that_follows_waits_for_the_last_reconcile_however_long(world):
    first = handed_over(world)
    old, new = world.caches
    assert (old.stopped, new.started) == (True, True)  # lookups go on at once
    for _ in range(5):
        world.clock.until_waiting()
        world.clock.advance(600)
    assert world.passes.started.empty()
    first.set()
    second = world.passes.started.get(timeout=PATIENCE)
    assert (world.passes.most, world.passes.cut_off) == (1, 0)
    second.set()
    assert world.lifecycle.handover_seconds() == {}


def test_a_hand_over_shows_in_log_readiness_and_metric(world, caplog):
    first = handed_over(world)
    registry = CollectorRegistry()
    name = "asoreconcile_kind_handover_seconds"
    registry.register(KindGauge(name, "", world.lifecycle.handover_seconds))
    world.clock.until_waiting()
    world.clock.advance(90)
    verdict = world.lifecycle.readiness()
    assert verdict.ok
    (line,) = verdict.details
    assert line.startswith("VirtualNetwork.network.azure.com: waits for its last")
    assert "ns/net" in line
    text = generate_latest(registry).decode()
    name = 'asoreconcile_kind_handover_seconds{kind="VirtualNetwork.network.azure.com"}'
    (value,) = [x.split()[-1] for x in text.splitlines() if x.startswith(name)]
    assert float(value) >= 90
    while "A kind waits for its last reconcile" not in caplog.text:
        world.clock.advance(1)
    first.set()
    world.passes.started.get(timeout=PATIENCE).set()


def test_a_kind_that_comes_and_goes_while_its_first_reconcile_runs_starts_once(world):
    first = handed_over(world)
    world.lifecycle.end(VNET.group_kind)
    world.lifecycle.begin([VNET.version(NEW)])
    assert world.passes.started.empty()
    first.set()
    world.passes.started.get(timeout=PATIENCE).set()
    assert world.passes.most == 1
    assert world.passes.started.empty()


def test_a_stop_names_what_still_runs_of_a_former_controller(world):
    first = handed_over(world)
    (left,) = world.lifecycle.stop(0)
    assert "ns/net" in left
    first.set()


def test_mg4_all_stop_where_the_machine_has_no_thread(world, monkeypatch):
    """And are asked before one of them is waited for, which may hang."""
    world.lifecycle.start()
    world.lifecycle.begin([VNET.version(NEW), SUBNET.version()])
    hanging = [world.passes.started.get(timeout=PATIENCE) for _ in range(2)]

    def refuse(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert len(world.lifecycle.stop(0)) == 2
    ended = [kind.controller for kind in world.kinds.running().values()]
    for one in hanging:
        one.set()
    assert [one.wait_until_ended(PATIENCE) for one in ended] == [[], []]
    assert world.passes.cut_off == 2


def test_a_hand_over_is_waited_for_also_where_no_thread_was_to_be_had(
    world, monkeypatch
):
    start, refused = world.threads.start, []

    def refuse(*args, **kwargs):
        refused.append(1)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(world.threads, "start", refuse)
    world.lifecycle.start()
    world.lifecycle.begin([VNET.version(NEW)])
    first = world.passes.started.get(timeout=PATIENCE)
    ending = threading.Thread(target=world.lifecycle.end, args=[VNET.group_kind])
    ending.start()
    world.clock.until_waiting()
    world.clock.advance(0.2)
    assert world.looks.get(timeout=PATIENCE)
    ending.join(PATIENCE)
    monkeypatch.setattr(world.threads, "start", start)
    world.lifecycle.begin([VNET.version(OLD)])
    first.set()
    world.passes.started.get(timeout=PATIENCE).set()
    assert world.passes.most == 1
    assert refused


class Discovery:
    """What the cluster serves: all of some kinds at one version."""

    def __init__(self, *kinds):
        self.kinds = kinds
        self.version = NEW
        self.asked = Queue()
        self.errors = []

    def read(self, path, *, accept):
        self.asked.put(1)
        if self.errors:
            raise self.errors.pop(0)
        document = {"kind": "APIGroupDiscoveryList"}
        resources = [{"responseKind": {"kind": k.group_kind.kind}} for k in self.kinds]
        version = {"version": self.version, "resources": resources}
        return {
            **document,
            "items": [{"metadata": {"name": VNET.group}, "versions": [version]}],
        }


class Supervised:
    """A watcher that a controller runs, as an application would."""

    def __init__(self, world, client):
        self.crds = None
        self.watcher = CrdWatcher(
            client,
            builtin(),
            world.lifecycle,
            crds=lambda: self.crds,
            clock=world.clock,
        )
        self.controller = Controller(
            "kinds",
            self.watcher,
            controller_options(world.clock),
            clock=world.clock,
        )
        self.controller.start()

    def changed(self, *kinds):
        self.crds = {kind.group_kind: SERVED for kind in kinds}
        self.controller.enqueue(ALL_KINDS.key)


@pytest.fixture
def supervise(world):
    made = []

    def build(client):
        made.append(Supervised(world, client))
        return made[-1]

    yield build
    for one in made:
        assert one.controller.stop(PATIENCE) == []


def look(world, client):
    """Let the crowd of CRDs settle, until discovery was asked."""
    while True:
        try:
            client.asked.get(timeout=0.05)
        except Empty:
            world.clock.advance(0.2)
            continue
        return


def test_a_kind_that_failed_to_start_is_tried_again_by_itself(world, supervise):
    client = Discovery(VNET, SUBNET)
    world.broken = {"VirtualNetwork"}
    supervised = supervise(client)
    watcher = supervised.watcher
    supervised.changed(VNET, SUBNET)
    look(world, client)
    while not watcher.failed:
        pass
    assert names(world) == {"VirtualNetworksSubnet"}
    assert watcher.readiness().ok
    assert (
        "VirtualNetwork.network.azure.com: failed: it did not start: KeyError"
        in str(watcher.readiness().details)
    )
    world.broken = set()
    look(world, client)  # by a timer
    while watcher.failed:
        pass
    assert names(world) == {"VirtualNetwork", "VirtualNetworksSubnet"}


def test_discovery_that_follows_a_crd_late_is_asked_again(world, supervise):
    client = Discovery(VNET)
    supervise(client).changed(VNET, SUBNET)
    for _ in range(4):  # however late it is
        look(world, client)
    while names(world) != {"VirtualNetwork"}:
        pass
    client.kinds = Discovery(VNET, SUBNET).kinds  # and nobody tells of it
    look(world, client)
    while len(names(world)) < 2:
        pass


class Watched(CrdWatcher):
    """A watcher of virtual networks; its discovery and CRDs can be set."""

    def __init__(self, world):
        self.client, self.crds = Discovery(VNET), {VNET.group_kind: SERVED}
        super().__init__(
            self.client,
            builtin(),
            world.lifecycle,
            crds=lambda: self.crds,
            clock=world.clock,
            expected=[VNET.group_kind],
        )


@pytest.fixture
def watcher(world):
    """A watcher whose one kind runs."""
    made = Watched(world)
    assert made.reconcile(ALL_KINDS) == Result()
    return made


def reasons(watcher):
    return {str(kind.kind): one.reason for kind, one in watcher.problems().items()}


def test_a_late_discovery_neither_stops_a_kind_nor_keeps_one_running(world, watcher):
    watcher.client.kinds = ()  # one lagging answer
    first = watcher.reconcile(ALL_KINDS).requeue_after_seconds
    second = watcher.reconcile(ALL_KINDS).requeue_after_seconds
    assert 0 < first < second
    assert names(world) == {"VirtualNetwork"}
    watcher.client.kinds = (VNET,)
    assert watcher.reconcile(ALL_KINDS) == Result()

    del watcher.crds[VNET.group_kind]
    assert watcher.reconcile(ALL_KINDS).requeue_after_seconds
    assert names(world) == {"VirtualNetwork"}
    watcher.client.kinds = ()
    assert watcher.reconcile(ALL_KINDS) == Result()
    assert names(world) == set()


def test_a_kind_that_was_given_another_version_waits_for_discovery(world, watcher):
    watcher.crds[VNET.group_kind] = CrdState(frozenset({OLD}))
    watcher.reconcile(ALL_KINDS)
    (running,) = watcher.running.values()
    assert running is VNET.version(NEW)
    watcher.client.version = OLD
    assert watcher.reconcile(ALL_KINDS) == Result()
    (running,) = watcher.running.values()
    assert running is VNET.version(OLD)


@pytest.mark.parametrize(
    ("state", "discovered", "reason"),
    [
        (None, (), "missing"),
        (CrdState(SERVED.served, is_deleting=True), (VNET,), "terminating"),
        (CrdState(frozenset(), "its names are taken"), (), "not-established"),
        (CrdState(frozenset()), (), "not-served"),
    ],
)
def test_a_kind_that_does_not_run_is_named(world, watcher, state, discovered, reason):
    watcher.crds.clear()
    if state is not None:
        watcher.crds[VNET.group_kind] = state
    watcher.client.kinds = discovered
    watcher.reconcile(ALL_KINDS)
    assert reasons(watcher) == {"VirtualNetwork": reason}
    assert watcher.readiness().ok
    (line,) = watcher.readiness().details
    assert line.startswith(f"VirtualNetwork.network.azure.com: {reason}: ")
    # While a CRD is being deleted its objects are, too: in Azure by their kind.
    assert names(world) == ({"VirtualNetwork"} if discovered else set())


def test_a_kind_whose_crd_is_shown_late_is_named(watcher, caplog):
    watcher.crds[SUBNET.group_kind] = SERVED
    with caplog.at_level("INFO"):
        watcher.reconcile(ALL_KINDS)
        assert reasons(watcher) == {"VirtualNetworksSubnet": "not-served"}
        watcher.client.kinds = (VNET, SUBNET)
        watcher.reconcile(ALL_KINDS)
    assert reasons(watcher) == {}
    said = [one.msg for one in caplog.records if "Kinds" in one.msg]
    assert said == ["Kinds do not run", "Kinds run again"]


def test_a_kind_that_the_leader_runs_and_we_refuse_keeps_us_from_getting_ready(
    watcher,
):
    newer = "v20990101"
    watcher.crds[VNET.group_kind] = CrdState(
        frozenset({newer}), stored=frozenset({newer})
    )
    watcher.client.version = newer
    watcher.reconcile(ALL_KINDS)
    assert reasons(watcher) == {"VirtualNetwork": "refused"}
    assert watcher.readiness().ok  # no process leads
    note = LeaderNote("asoreconcile-9.0.0", frozenset({VNET.group_kind}))
    watcher._leader = lambda: leader_note(note.annotations())
    assert not watcher.readiness().ok
    watcher._was_ready = lambda: True
    assert watcher.readiness().ok


def test_before_the_crds_are_listed_discovery_decides_alone(world):
    watcher = CrdWatcher(
        Discovery(VNET),
        builtin(),
        world.lifecycle,
        crds=lambda: None,
        clock=world.clock,
        expected=[SUBNET.group_kind],
    )
    assert watcher.reconcile(ALL_KINDS) == Result()
    assert names(world) == {"VirtualNetwork"}
    assert watcher.problems() == {}


@pytest.mark.parametrize("error", [TypeError("not a dict"), SystemExit(1)])
def test_a_look_that_fails_as_nobody_expects_is_in_the_log_and_made_again(
    world, supervise, error, caplog
):
    client = Discovery(VNET)
    client.errors = [error]
    supervise(client).changed(VNET)
    look(world, client)
    look(world, client)
    while not names(world):
        pass
    assert names(world) == {"VirtualNetwork"}
    assert "Reconcile failed unexpectedly" in caplog.text
