"""Reads of the cache while its watch, or another thread's writes, change it (D21)."""

import random
import threading
from functools import partial

import pytest
from interleaving import Interleaving, seeds

from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.indexer import Indexer
from asoreconcile.cache.initial_list import InitialList
from asoreconcile.cache.scope import watch_scopes
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.testing.clock import FakeClock

(PART,) = watch_scopes(CONFIG_MAPS)
NAMES = ("a", "b", "c")


def entry(name, uid, version, colour):
    meta = {
        "namespace": "n",
        "name": name,
        "uid": uid,
        "resourceVersion": str(version),
        "labels": {"colour": colour},
    }
    return Entry({"metadata": meta})


class Cluster:
    """A server that keeps a history, and the contents of a cache that lags behind."""

    def __init__(self, dice):
        self.dice = dice
        self.indexer = Indexer(FakeClock(), synced=lambda: True)
        self.indexer.add_index("colour", lambda one: [one.labels["colour"]])
        self.lock = threading.Lock()  # the server's own: writes are answered in order
        self.objects = {}
        self.history = []
        self.version = 0
        self.over = 0
        self.idle = lambda: None

    def put(self, name, colour):
        """A write of ours; answered, and recorded, when the server has it."""
        with self.lock:
            self.version += 1
            old = self.objects.get(name)
            uid = old.uid if old else f"uid-{self.version}"
            made = self.objects[name] = entry(name, uid, self.version, colour)
            self.history.append(("MODIFIED" if old else "ADDED", made))
        self.indexer.mutations.record(made)
        return made

    def delete(self, name):
        with self.lock:
            self.version += 1
            old = self.objects.pop(name)
            last = entry(name, old.uid, self.version, old.labels["colour"])
            self.history.append(("DELETED", last))
        self.indexer.mutations.record_deletion(ObjectKey("n", name), old.uid)

    def watch(self):
        """Bring the history into the cache, with a bookmark or a relist now and
        then.
        """
        taken = 0
        while True:
            with self.lock:
                over = self.over == len(NAMES)
                left = self.history[taken:]
                version, state = self.version, list(self.objects.values())
            if not left and over:
                return
            if not left:
                self.idle()
                continue
            chance = self.dice.random()
            if chance < 0.1:
                whole = InitialList(state, str(version))
                self.indexer.replace(whole, PART, initial=False)
                taken += len(left)
            else:
                self.indexer.apply(*left[0], PART)  # type: ignore[call-arg]
                taken += 1
                if chance > 0.9 and len(left) == 1:
                    self.indexer.advance(str(version), PART)

    def write(self, name, *, times):
        """One thread's writes of its own object, and reads after each of them."""
        dice = random.Random(self.dice.random())
        key = ObjectKey("n", name)
        mine = None
        try:
            for _ in range(times):
                if mine is not None and dice.random() < 0.3:
                    self.delete(name)
                    mine = None
                else:
                    mine = self.put(name, dice.choice(("red", "blue")))
                self.check(key, mine)
        finally:
            with self.lock:
                self.over += 1

    def check(self, key, mine):
        shown = self.indexer.entry(key)
        if mine is None:
            assert shown is None
        else:
            assert shown is not None
            assert shown.resource_version == mine.resource_version
        everywhere = self.indexer.keys()
        assert (key in everywhere) is (mine is not None)
        assert (key in self.indexer.keys("n")) is (mine is not None)
        for colour in ("red", "blue"):
            here = mine is not None and mine.labels["colour"] == colour
            assert (key in self.indexer.by_index("colour", colour)) is here


def test_d21_no_read_is_older_than_an_own_write_whoever_is_interrupted():
    for seed in seeds(12, kept=(0, 1, 3)):
        interleaving = Interleaving(seed)
        with interleaving.locks():
            cluster = Cluster(random.Random(seed))
        cluster.idle = interleaving.switch
        writers = [partial(cluster.write, name, times=6) for name in NAMES]
        interleaving.run(cluster.watch, *writers)
        assert len(cluster.indexer.mutations) == 0


@pytest.mark.usefixtures("impatient_interpreter")
def test_d21_no_read_is_older_than_an_own_write_in_free_threads():
    (seed,) = seeds(1)
    cluster = Cluster(random.Random(seed))
    failures = []

    def write(name):
        try:
            cluster.write(name, times=400)
        except AssertionError as error:
            failures.append(error)

    threads = [
        threading.Thread(target=cluster.watch),
        *(threading.Thread(target=write, args=(name,)) for name in NAMES),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert failures == [], f"seed {seed}"
