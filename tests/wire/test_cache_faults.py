"""Informers behind bad connections: they miss nothing and invent nothing.

Each seed is one history of writes and one of faults. However it goes, what handlers
heard is a history that could have been, its end is what the server has, and no read was
ever older than our own writes.
"""

import random
import threading

import pytest
from heard import Heard
from quickclock import QuickClock, QuickTimers
from seededfaults import SeededFaults

from asoreconcile.base.objects import ObjectKey, key_of, resource_version, uid_of
from asoreconcile.base.threads import Threads
from asoreconcile.cache.events import Added, Deleted
from asoreconcile.cache.informer import Informer
from asoreconcile.cache.initial_list import StreamingSupport
from asoreconcile.cache.mutation_cache import version
from asoreconcile.cache.watch_runner import SharedThreads
from asoreconcile.kube.resources import CONFIG_MAPS

SEEDS = range(5)
# A list brings it after all others, as does a stream.
LAST = "zz-last"
WRITES = 40
NAMES = [f"m{number}" for number in range(6)]


class Writer:
    """Random writes, each told to the informer, and read back from it."""

    def __init__(self, seed, server, client, informer):
        self.dice = random.Random(seed)
        self.server, self.client, self.informer = server, client, informer
        self.there = {}

    def write(self):
        key = ObjectKey("default", self.dice.choice(NAMES))
        present = self.there.get(key)
        if present is None:
            meta = {"name": key.name, "namespace": key.namespace}
            body = {"metadata": meta, "data": {"n": "0"}}
            self.wrote(self.client.create(CONFIG_MAPS, body))
        elif self.dice.random() < 0.7:
            body = {"data": {"n": str(self.dice.random())}}
            self.wrote(self.client.patch(CONFIG_MAPS, key, body))
        else:
            self.client.delete(CONFIG_MAPS, key)
            self.informer.record_deletion(key, uid_of(self.there.pop(key)))
            found = self.informer.get(key)
            assert found is None
        roll = self.dice.random()
        if roll < 0.05:
            self.server.cut_watches()
        elif roll < 0.10:
            self.server.cut_watches()
            self.server.forget_changes()

    def wrote(self, answer):
        self.there[key_of(answer)] = answer
        self.informer.record_write(answer)
        found = self.informer.get(key_of(answer))
        assert resource_version(found) == resource_version(answer)
        if self.dice.random() < 0.5:
            self.until_seen(int(resource_version(answer)))

    def until_seen(self, number):
        """Let the watch catch up, so that its lines, too, meet their faults."""
        tick = threading.Event()
        for _ in range(20_000):
            if int(self.informer.synced_version or 0) >= number:
                return
            tick.wait(0.001)
        raise AssertionError(self.informer.last_error)


def replayed(events):
    """What is there after all that was heard; checks that each step is possible."""
    there = {}
    for event in events:
        known = there.get(event.key)
        if isinstance(event, Added):
            assert known is None
            there[event.key] = event.entry
        elif isinstance(event, Deleted):
            assert known is not None
            assert known.uid == event.entry.uid
            del there[event.key]
        else:
            assert known is not None
            assert known.deep_copy() == event.old.deep_copy()
            assert known.uid == event.new.uid
            assert version(known) < version(event.new)
            there[event.key] = event.new
    return {key: entry.deep_copy() for key, entry in there.items()}


def stored(client):
    """What the server has, as a cache keeps it."""
    found = {}
    for obj in client.list_all(CONFIG_MAPS):
        obj["metadata"].pop("managedFields", None)
        found[key_of(obj)] = obj
    return found


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "listed"])
@pytest.mark.parametrize("seed", SEEDS)
def test_rf13_in4_bad_connections_lose_and_invent_nothing(
    server, client, seed, streaming
):
    server.faults = faults = SeededFaults(seed, "/configmaps")
    dice = random.Random(seed)
    clock = QuickClock()
    timers = QuickTimers(clock)
    runner = SharedThreads(client, clock=timers, threads=Threads(clock))
    informer = Informer(
        client,
        CONFIG_MAPS,
        clock=clock,
        uniform=dice.uniform,
        streaming=StreamingSupport(expected=streaming),
        runner=runner,
    )
    heard = Heard(informer)
    informer.start()
    try:
        writer = Writer(seed, server, client, informer)
        for _ in range(WRITES):
            writer.write()
        faults.active = False
        meta = {"name": LAST, "namespace": "default"}
        client.create(CONFIG_MAPS, {"metadata": meta})
        heard.until_named(LAST)
        assert replayed(heard.events) == stored(client)
        assert {key_of(obj): obj for obj in informer.list()} == stored(client)
        heard.until_healthy()
        assert sum(faults.done.values()) > 10, faults.done
    finally:
        assert informer.stop(20) == []
        runner.stop()
