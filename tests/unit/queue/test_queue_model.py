"""The queue against a plain model of itself, in any order of calls."""

import math

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from asoreconcile.backoff import ItemExponential
from asoreconcile.queue.workqueue import WorkQueue
from asoreconcile.testing.clock import FakeClock

KEYS = st.sampled_from("abcdef")
PRIORITIES = st.integers(-2, 2)
DELAYS = st.sampled_from([-1.0, 0.0, 1.0, 2.0, 5.0])


class QueueModel(RuleBasedStateMachine):
    """WQ-1, WQ-5, DQ-1, DQ-2, PQ-2, PQ-5 and PQ-6: what is ready, and how urgent.

    Each entry of the model is [priority, ready at, not before].
    """

    def __init__(self):
        super().__init__()
        self.clock = FakeClock()
        limiter = ItemExponential(1.0, 8.0, clock=self.clock)
        self.queue = WorkQueue(
            "model", clock=self.clock, limiter=limiter, oldest_every=0
        )
        self.entries = {}
        self.held = set()
        self.failures = {}
        self.closed = False

    def admit(self, key, priority, delay, hold=0.0):
        if self.closed:
            return
        now = self.clock.monotonic()
        at = now + max(0.0, delay)
        entry = self.entries.setdefault(key, [priority, at, -math.inf])
        entry[0] = max(entry[0], priority)
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
        del self.entries[item.key]
        self.held.add(item.key)

    @rule(key=KEYS)
    def done(self, key):
        self.queue.done(key)
        self.held.discard(key)

    @rule(seconds=st.sampled_from([0.5, 1.0, 3.0]))
    def advance(self, seconds):
        self.clock.advance(seconds)

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
        assert self.queue.unattended() == len(ready.keys() - self.held)
        depth = {p: n for p, n in self.queue.snapshot().depth.items() if n}
        wanted = {}
        for entry in ready.values():
            wanted[str(entry[0])] = wanted.get(str(entry[0]), 0) + 1
        assert depth == wanted
        for key in "abcdef":
            assert self.queue.retries(key) == self.failures.get(key, 0)


TestQueueModel = QueueModel.TestCase
TestQueueModel.settings = settings(max_examples=150, stateful_step_count=40)
