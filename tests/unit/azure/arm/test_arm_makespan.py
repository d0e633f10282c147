"""Thousands of creates under Azure's token buckets: hardly longer than these demand.

The client's budget against the simulator's buckets, both on one clock; `hack/bench arm`
does the same over HTTPS.
"""

import heapq
import itertools

import pytest

from asoreconcile.azure.arm.bucket_key import Bucket, OperationClass
from asoreconcile.azure.arm.budget import Budget, ThrottledError
from asoreconcile.azure.arm.errors import parse_fault
from asoreconcile.azure.arm.response import ArmResponse
from asoreconcile.testing.arm.refusals import RefusedError
from asoreconcile.testing.arm.throttling import PUBLISHED, Size, Throttling
from asoreconcile.testing.clock import FakeClock

LRO_SECONDS = 10.0
WRITES = Bucket("s", OperationClass.WRITES, "Microsoft.Network")
READS = Bucket("s", OperationClass.READS, "Microsoft.Network")
DELETES = Bucket("s", OperationClass.DELETES, "Microsoft.Network")


class Estate:
    """Creates, each a write, some polls and a read, as the operator makes them; and
    deletions: a read, the DELETE and some polls.
    """

    def __init__(
        self,
        *,
        processes=1,
        retry_after_seconds=3.0,
        lro_seconds=LRO_SECONDS,
        sizes=None,
    ):
        self.retry_after_seconds = retry_after_seconds
        self.lro_seconds = lro_seconds
        self.seconds = []
        self.clock = FakeClock()
        made = [Budget(self.clock, jitter=lambda: 0.5) for _ in range(processes)]
        self._budgets = itertools.cycle(made)
        self.azure = Throttling(self.clock, sizes)
        self.asked = self.refused = 0
        self.finished = 0.0
        self._due = []
        self._order = itertools.count()

    def create(self, number):
        return self._run(self._put, number)

    def delete(self, number):
        return self._run(self._look, number)

    def _run(self, begin, number):
        for name in range(number):
            self._at(0.0, begin, next(self._budgets), str(name))
        while self._due:
            when, _, step, arguments = heapq.heappop(self._due)
            self.clock.advance(max(when - self.clock.monotonic(), 0.0))
            try:
                step(*arguments)
            except ThrottledError as closed:
                self._at(closed.after_seconds, step, *arguments)
        return self.finished

    def _put(self, budget, name):
        self._ask(budget, WRITES)
        self._begin(budget, name, deleting=False)

    def _look(self, budget, name):
        self._ask(budget, READS)
        self._at(0.0, self._delete, budget, name)

    def _delete(self, budget, name):
        self._ask(budget, DELETES)
        self._begin(budget, name, deleting=True)

    def _begin(self, budget, name, *, deleting):
        ends = self.clock.monotonic() + self.lro_seconds
        reads = 1 if deleting else 2
        wait = self._next_poll(budget, name, reads_to_end=reads, is_first=True)
        self._at(wait, self._poll, budget, name, ends, deleting)

    def _poll(self, budget, name, ends, deleting):
        self._ask(budget, READS)
        if self.clock.monotonic() >= ends:
            budget.operations.ended("s", name)
            if not deleting:
                self._at(0.0, self._read, budget)
            self.seconds.append(self.clock.monotonic() - ends)
            return
        reads = 1 if deleting else None
        wait = self._next_poll(budget, name, reads_to_end=reads, is_first=False)
        self._at(wait, self._poll, budget, name, ends, deleting)

    def _next_poll(self, budget, name, **known):
        left = budget.reads_left("s")
        asked = self.retry_after_seconds
        return budget.operations.running("s", name, asked, reads_left=left, **known)

    def _read(self, budget):
        self._ask(budget, READS)
        self.finished = self.clock.monotonic()

    def _ask(self, budget, bucket):
        budget.admit(bucket)
        self.asked += 1
        try:
            headers = self.azure.take("me", "s", bucket.operations.value)
        except RefusedError as refused:
            self.refused += 1
            headers = {k.lower(): v for k, v in refused.headers.items()}
            fault = parse_fault(ArmResponse(429, headers))
            budget.leave(bucket)
            budget.observe(bucket, headers, fault)
            raise ThrottledError("refused", after_seconds=1.0) from refused
        budget.leave(bucket)
        budget.observe(bucket, headers)

    def _at(self, wait, step, *arguments):
        when = self.clock.monotonic() + wait
        heapq.heappush(self._due, (when, next(self._order), step, arguments))


@pytest.mark.parametrize(
    ("number", "times_ideal"),
    [
        pytest.param(5000, 1.1, id="T8-5000"),
        pytest.param(1000, 1.25, id="T8-1000"),
    ],
)
def test_t8_t9_creates_take_hardly_longer_than_the_buckets_demand(number, times_ideal):
    estate = Estate()
    seconds = estate.create(number)
    ideal = (number - 200) / 10 + LRO_SECONDS
    assert seconds <= ideal * times_ideal
    assert estate.refused < estate.asked / 100


@pytest.mark.parametrize(
    ("reads", "median", "last"), [(250, 7.0, 8.5), (3750, 1.0, 1.0)], ids=["T9", "T4"]
)
def test_t9_operations_of_a_burst_are_seen_to_end_as_soon_as_reads_allow(
    reads, median, last
):
    """With the published bucket they share what there is; with a larger one none waits."""
    sizes = {**PUBLISHED, "reads": Size(reads, 25)}
    estate = Estate(retry_after_seconds=1.0, sizes=sizes)
    estate.create(200)
    late = sorted(estate.seconds)
    assert late[100] <= median
    assert late[-1] <= last
    assert estate.refused == 0


@pytest.mark.parametrize(
    ("lro_seconds", "asked", "median", "last"),
    [(1.0, 1.0, 3.5, 7.0), (10.0, 10.0, 0.0, 0.0), (10.0, 1.0, 5.0, 9.0)],
    ids=["T9-short", "T9-as-told", "T9-longer-than-told"],
)
def test_t9_deletions_of_a_burst_are_seen_to_end_as_soon_as_reads_refill(
    lro_seconds, asked, median, last
):
    """200 need 400 reads, of which 250 are there: 6 s to refill the rest."""
    estate = Estate(lro_seconds=lro_seconds, retry_after_seconds=asked)
    estate.delete(200)
    late = sorted(estate.seconds)
    assert late[100] <= median
    assert late[-1] <= last
    assert estate.refused == 0


def test_t8_two_processes_of_one_principal_share_what_there_is():
    """What is left is read from every answer: who takes it does not matter."""
    estate = Estate(processes=2)
    seconds = estate.create(1000)
    assert seconds <= ((1000 - 200) / 10 + LRO_SECONDS) * 1.5
    assert estate.refused < estate.asked / 100
