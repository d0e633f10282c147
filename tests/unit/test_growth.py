"""Twice as many keys, kinds, handlers or pending writes cost twice the CPU time.

Each scenario uses a public collection with N of one thing. The thread's CPU time for 2 N
is at most 2.3 times that for N; the least of a few tries counts, because other load only
adds time.
"""

import gc
import time

import pytest
from scriptedapi import config_map

from asoreconcile import (
    CONFIG_MAPS,
    ApiResource,
    CacheOptions,
    Deleted,
    Informer,
    ItemExponential,
    ObjectKey,
    Scope,
    WorkQueue,
    enqueue_owner,
)
from asoreconcile.base.objects import GroupKind
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.indexer import Indexer
from asoreconcile.cache.initial_list import InitialList
from asoreconcile.cache.scope import WatchScope, watch_scopes
from asoreconcile.cache.watch_workers import WatchWorkers
from asoreconcile.kube.selection import Selection
from asoreconcile.testing.clock import FakeClock

MOST_RATIO = 2.3
TRIES = 6
ALL = WatchScope(Selection(CONFIG_MAPS))


def drain(queue, n):
    for _ in range(n):
        item = queue.get()
        queue.done(item.key)


def keys(n):
    """A key added, taken, done."""
    queue = WorkQueue("q", clock=FakeClock())
    for at in range(n):
        queue.add(at)
    drain(queue, n)


def priorities(n):
    queue = WorkQueue("q", clock=FakeClock())
    for at in range(n):
        queue.add(at, priority=at)
    drain(queue, n)


def raised_priorities(n):
    """Each key is added again with a higher priority, one by one."""
    queue = WorkQueue("q", clock=FakeClock())
    for at in range(n):
        queue.add(at, priority=at)
        queue.add(at, priority=2 * n - at)
    drain(queue, n)


def groups(n):
    queue = WorkQueue("q", clock=FakeClock(), fairness=lambda key: key)
    for at in range(n):
        queue.add(at, priority=at % 2)
    drain(queue, n)


def delayed(n):
    clock = FakeClock()
    queue = WorkQueue("q", clock=clock)
    for at in range(n):
        queue.add_after(at, 1.0 + at)
        queue.add_after(at, 0.5 + at / 2)
    clock.advance(n + 2)
    drain(queue, n)


def failures(n):
    """Each key fails, in turn, three times."""
    limiter = ItemExponential(1, 100, clock=FakeClock())
    for _ in range(3):
        for at in range(n):
            limiter.delay(at)
    for at in range(n):
        limiter.forget(at)
        limiter.delay("other")


def held(n):
    """Keys added while workers hold them."""
    queue = WorkQueue("q", clock=FakeClock())
    for at in range(n):
        queue.add(at)
    taken = [queue.get().key for _ in range(n)]
    for key in taken:
        queue.add(key, priority=key)
    for key in taken:
        queue.done(key)
    drain(queue, n)


def indexer(namespaces=()):
    made = Indexer(FakeClock(), synced=lambda: True, namespaces=namespaces)
    made.add_index("owner", lambda entry: (entry.annotations.get("owner", ""),))
    return made


def entry(at, version, namespace="n"):
    obj = config_map(f"a{at}", version, uid=f"u{at}")
    obj["metadata"]["namespace"] = namespace
    obj["metadata"]["annotations"] = {"owner": f"o{at}"}
    return Entry(obj)


def key_at(at, namespace="n"):
    return ObjectKey(namespace, f"a{at}")


def pending_writes(n):
    """N responses wait for a watch that is behind; each event and read passes them."""
    found = indexer()
    for at in range(n):
        found.mutations.record(entry(at, n + at))
        found.advance(str(at // 2), ALL)
        assert found.by_index("owner", f"o{at}") == [key_at(at)]
    found.advance(str(2 * n), ALL)
    assert len(found.mutations) == 0


def pending_deletions(n):
    found = indexer()
    entries = [entry(at, at + 1) for at in range(n)]
    found.replace(InitialList(entries, str(n)), ALL, initial=True)
    for at in range(n):
        found.mutations.record_deletion(key_at(at), f"u{at}")
        found.advance(str(n), ALL)
        assert found.by_index("owner", f"o{at}") == []
    for at in range(n):
        found.apply("DELETED", entry(at, n + 1 + at), ALL)
    assert len(found.mutations) == 0


def pending_namespaces(n):
    names = [f"n{at}" for at in range(n)]
    scopes = [WatchScope(Selection(CONFIG_MAPS, name)) for name in names]
    found = indexer(names)
    for at, scope in enumerate(scopes):
        found.mutations.record(entry(at, 5, names[at]))
        found.replace(InitialList([entry(at, 1, names[at])], "4"), scope, initial=True)
    for at, scope in enumerate(scopes):
        assert found.entry(key_at(at, names[at])).resource_version == "5"
        found.advance("5", scope)
    assert len(found.mutations) == 0


class NoRunner:
    """Runs no watch: only what the informer keeps counts."""

    source = None

    def start(self, name, reflector):
        return None


def informer_of(namespaces):
    return Informer(
        None,
        CONFIG_MAPS,
        Scope(namespaces),
        clock=FakeClock(),
        runner=NoRunner(),
    )


def namespaces_of_a_scope(n):
    assert len(watch_scopes(CONFIG_MAPS, Scope([f"n{at}" for at in range(n)]))) == n


def reads_in_namespaces(n):
    names = [f"n{at}" for at in range(n // 4)]
    found = informer_of(names)
    for at, name in enumerate(names):
        found.record_write(entry(at, 5, name).deep_copy())
        assert found.get(key_at(at, name))


def handlers(n):
    found = informer_of(["n"])
    registered = [found.add_handler(lambda event: None) for _ in range(n)]
    for one in registered:
        one.remove()


def children_of_an_owner(n):
    found = Indexer(FakeClock(), synced=lambda: True)
    found.add_index("owner", lambda entry: ("one",))
    for at in range(n):
        found.apply("ADDED", entry(at, at + 1), ALL)
    assert len(found.by_index("owner", "one")) == n
    for at in range(n):
        found.apply("DELETED", entry(at, n + at + 1), ALL)


def owners_of_an_object(n):
    obj = config_map("a", 1, uid="u")
    obj["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Pod", "name": f"p{at}", "uid": f"{at}"}
        for at in range(n)
    ]
    handle = enqueue_owner(GroupKind("", "Pod"))
    assert len(list(handle(Deleted(Entry(obj))))) == n


def kinds(n):
    kinds = {GroupKind("example.com", f"Kind{at}"): Scope() for at in range(n)}
    options = CacheOptions(kinds=kinds)
    assert len(options.kinds) == n


def informers(n):
    from asoreconcile.cache.informers import Informers

    found = Informers(StepsClient(), clock=FakeClock())
    made = [
        found.of(ApiResource("example.com", "v1", f"kinds{at}", f"Kind{at}"))
        for at in range(n // 8)
    ]
    for one in made:
        found.discard(one)


class StepsClient:
    def in_steps(self, threads):
        return None


class Waiting:
    """A watch that waits for a thread."""


def due_watches(n):
    workers = WatchWorkers(clock=FakeClock(), threads=NoThreads())
    tasks = [Waiting() for _ in range(n)]
    for one in tasks:
        workers.add(one)
    for one in reversed(tasks):
        workers.withdraw(one)


class NoThreads:
    def start(self, name, target):
        return None


SCENARIOS = [
    keys,
    priorities,
    raised_priorities,
    groups,
    delayed,
    failures,
    held,
    pending_writes,
    pending_deletions,
    pending_namespaces,
    namespaces_of_a_scope,
    reads_in_namespaces,
    handlers,
    children_of_an_owner,
    owners_of_an_object,
    kinds,
    informers,
    due_watches,
]


def cpu_of(scenario, n):
    gc.collect()
    gc.disable()  # it walks all objects of the test process
    try:
        began = time.thread_time()
        scenario(n)
        return time.thread_time() - began
    finally:
        gc.enable()


def check_shape(scenario, n):
    one = two = float("inf")
    for _ in range(TRIES):
        one, two = min(one, cpu_of(scenario, n)), min(two, cpu_of(scenario, 2 * n))
        if two <= MOST_RATIO * one:
            return
    pytest.fail(f"{2 * n} take {two / one:.1f} times the {one:.3f} s of {n}")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_th12_twice_as_many_cost_twice(scenario):
    check_shape(scenario, 3_000)


@pytest.mark.long
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("n", [4_000, 8_000, 16_000])
def test_twice_as_many_cost_twice_up_to_32000(scenario, n):
    check_shape(scenario, n)
