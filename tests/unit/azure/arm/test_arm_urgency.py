"""Requests that users wait for precede all others when Azure throttles (T7)."""

import heapq
import itertools

import pytest

from asoreconcile.azure.arm.bucket_key import Bucket, OperationClass
from asoreconcile.azure.arm.budget import Budget, ThrottledError
from asoreconcile.testing.clock import FakeClock

READS = Bucket("s", OperationClass.READS)


class Crowd:
    """Callers that come back when they are told to; time moves from one to the next."""

    def __init__(self, left):
        self.clock = FakeClock()
        self.budget = Budget(self.clock, jitter=lambda: 0.5)
        self.budget.observe(
            READS, {"x-ms-ratelimit-remaining-subscription-reads": str(left)}, None
        )
        self.went = {}
        self._due = []
        self._numbers = itertools.count()

    def arrive(self, name, *, background):
        self._push(0.0, name, background)

    def _push(self, after, name, background):
        at = self.clock.monotonic() + after
        heapq.heappush(self._due, (at, next(self._numbers), name, background))

    def run(self, until=float("inf")):
        while self._due and self._due[0][0] <= until:
            at, _, name, background = heapq.heappop(self._due)
            self.clock.advance(max(0.0, at - self.clock.monotonic()))
            try:
                self.budget.admit(READS, background=background)
            except ThrottledError as throttled:
                self._push(throttled.after_seconds, name, background)
            else:
                self.went[name] = self.clock.monotonic()
                self.budget.leave(READS)


def test_t7_a_user_does_not_wait_behind_a_thousand_syncs():
    crowd = Crowd(left=0)
    for number in range(1000):
        crowd.arrive(f"sync {number}", background=True)
    crowd.run(until=5.0)
    begun = crowd.clock.monotonic()
    for number in range(10):
        crowd.arrive(f"user {number}", background=False)
    crowd.run()
    assert max(crowd.went[f"user {n}"] for n in range(10)) < begun + 1.0
    # 1,010 at 25 a second, a twentieth slower: nobody is kept longer than it takes.
    assert len(crowd.went) == 1010
    assert max(crowd.went.values()) < 1010 / 25 / 0.95 * 1.15


def test_t7_syncs_are_not_kept_waiting_by_users_who_never_come_back():
    crowd = Crowd(left=0)
    for _ in range(50):
        with pytest.raises(ThrottledError):
            crowd.budget.admit(READS)
    crowd.arrive("sync", background=True)
    crowd.run()
    assert crowd.went["sync"] < 10.0


def test_t7_users_go_in_the_order_they_came():
    crowd = Crowd(left=0)
    names = [f"user {number}" for number in range(40)]
    for name in names:
        crowd.arrive(name, background=False)
    crowd.run()
    assert sorted(names, key=crowd.went.get) == names
