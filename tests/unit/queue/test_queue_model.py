"""The queue against a plain model of itself, in any order of calls."""

import math

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)
from readyslots import ready_heaps, ready_slots

from asoreconcile.base.backoff import ItemExponential
from asoreconcile.queue.queue_item import State
from asoreconcile.queue.workqueue import WorkQueue
from asoreconcile.testing.clock import FakeClock

KEYS = st.sampled_from("abcdef")
PRIORITIES = st.integers(-2, 2)
DELAYS = st.sampled_from([-1.0, 0.0, 1.0, 2.0, 5.0])


class QueueModel(RuleBasedStateMachine):
    """WQ-1, WQ-5, DQ-1, DQ-2, PQ-2, PQ-3, PQ-5 and PQ-6: what is ready, how urgent, and
    who is first.

    Each entry of the model is [priority, ready at, not before, order]; what falls due
    at one moment has one order.
    """

    def __init__(self):
        super().__init__()
        self.clock = FakeClock()
        self.entries = {}
        self.held = set()
        self.failures = {}
        self.closed = False
        self.orders = 0
        self.adds = 0
        self.before = set()

    @initialize(groups=st.sampled_from([1, 3]))
    def make(self, groups):
        self.group_of = {key: n % groups for n, key in enumerate("abcdef")}
        self.queue = WorkQueue(
            "model",
            clock=self.clock,
            limiter=ItemExponential(1.0, 8.0, clock=self.clock),
            fairness=self.group_of.get,
            oldest_every=0,
        )

    def next_order(self):
        self.orders += 1
        return self.orders

    def admit(self, key, priority, delay, hold=0.0):
        if self.closed:
            return
        now = self.clock.monotonic()
        at = now + max(0.0, delay)
        if key not in self.entries:
            self.entries[key] = [priority, at, -math.inf, self.next_order()]
        entry = self.entries[key]
        if priority > entry[0]:
            entry[0], entry[3] = priority, self.next_order()
        entry[1] = min(entry[1], at)
        if hold > 0:
            entry[2] = max(entry[2], now + hold)

    def ready(self):
        now = self.clock.monotonic()
        return {k: e for k, e in self.entries.items() if max(e[1], e[2]) <= now}

    @rule(key=KEYS, priority=PRIORITIES)
    def add(self, key, priority):
        self.queue.add(key, priority=priority)
        self.admit(key, priority, 0.0)

    @rule(key=KEYS, priority=PRIORITIES, delay=DELAYS, hold=st.booleans())
    def add_after(self, key, priority, delay, hold):
        self.queue.add_after(key, delay, priority=priority, not_before=hold)
        self.admit(key, priority, delay, delay if hold else 0.0)

    @rule(key=KEYS)
    def add_rate_limited(self, key):
        failures = self.failures.get(key, 0)
        self.failures[key] = failures + 1
        self.queue.add_rate_limited(key)
        self.admit(key, 0, min(8.0, 2.0**failures))

    @rule(key=KEYS)
    def forget(self, key):
        self.queue.forget(key)
        self.failures.pop(key, None)

    @rule()
    def get(self):
        free = {k: e for k, e in self.ready().items() if k not in self.held}
        if not free:
            return
        item = self.queue.get()
        assert item.key in free
        assert item.priority == max(entry[0] for entry in free.values())
        same = [
            entry[3]
            for key, entry in free.items()
            if entry[0] == item.priority
            and self.group_of[key] == self.group_of[item.key]
        ]
        assert free[item.key][3] == min(same)
        del self.entries[item.key]
        self.held.add(item.key)

    @rule(key=KEYS)
    def done(self, key):
        self.queue.done(key)
        if key in self.held and key in self.ready():
            self.entries[key][3] = self.next_order()
        self.held.discard(key)

    @rule(seconds=st.sampled_from([0.5, 1.0, 3.0]))
    def advance(self, seconds):
        before = self.ready()
        self.clock.advance(seconds)
        due = [entry for key, entry in self.ready().items() if key not in before]
        for moment in sorted({max(entry[1], entry[2]) for entry in due}):
            order = self.next_order()
            for entry in due:
                if max(entry[1], entry[2]) == moment:
                    entry[3] = order

    @rule(really=st.integers(0, 9))
    def shut_down(self, really):
        if really == 0:
            self.queue.shut_down()
            self.entries = self.ready()
            self.closed = True

    @invariant()
    def agrees(self):
        ready = self.ready()
        assert len(self.queue) == len(ready)
        assert self.queue.unclaimed() == len(ready.keys() - self.held)
        self.adds += len(ready.keys() - self.before)
        self.before = set(ready)
        snapshot = self.queue.snapshot()
        assert snapshot.adds == self.adds
        depth = {p: n for p, n in snapshot.depth.items() if n}
        wanted = {}
        for entry in ready.values():
            wanted[str(entry[0])] = wanted.get(str(entry[0]), 0) + 1
        assert depth == wanted
        for key in "abcdef":
            assert self.queue.retries(key) == self.failures.get(key, 0)

    @invariant()
    def is_consistent(self):
        """What the agenda says of itself: one slot for an entry at most, the rest gone."""
        agenda = self.queue._state
        lines = ready_slots(agenda.ready)
        heap = [slot[2] for slot in agenda.delayed._slots]
        for state, slots in ((State.READY, lines), (State.WAITING, heap)):
            live = [entry for entry in slots if entry.state is not State.GONE]
            wanted = [
                entry
                for entry in agenda.entries.values()
                if entry.state is state
                and (state is State.WAITING or entry.taken_at is None)
            ]
            assert sorted(map(id, live)) == sorted(map(id, wanted))
        held = {e.key for e in agenda.entries.values() if e.taken_at is not None}
        assert held == self.held
        heaps = ready_heaps(agenda.ready)
        alone = len(lines) - sum(len(one._slots) for one in heaps)
        assert len(agenda.ready) == alone + sum(one.live for one in heaps)
        for one in (*heaps, agenda.delayed):
            present = [slot[2].state is not State.GONE for slot in one._slots]
            assert one.live == sum(present)
        assert all(one.live for one in heaps)


TestQueueModel = QueueModel.TestCase
TestQueueModel.settings = settings(max_examples=150, stateful_step_count=40)
