"""What is remembered of objects: whose it is, and that it goes with them."""

import pytest

from asoreconcile.azure.arm.outcomes import PollState, Progress
from asoreconcile.azure.reconcile.model.drift_baseline import RepairAttempts
from asoreconcile.azure.reconcile.model.put_budget import PutBudget
from asoreconcile.azure.reconcile.state.memory import ObjectMemories
from asoreconcile.base.objects import ObjectKey

ONE, OTHER = ObjectKey("ns", "one"), ObjectKey("ns", "other")


@pytest.fixture
def memories():
    return ObjectMemories()


def test_an_object_finds_its_memory_again(memories):
    memories.of(ONE, "u").poll = PollState(Progress(polls=3), due=7.0)
    assert memories.of(ONE, "u").poll.due == 7.0
    assert memories.of(OTHER, "u").poll == PollState()


def test_another_object_of_the_name_remembers_nothing_of_the_first(memories):
    memories.of(ONE, "u").failures = 5
    assert memories.of(ONE, "v").failures == 0
    assert memories.of(ONE, "u").failures == 0
    assert len(memories._by_key) == 1


def test_what_all_begin_with_is_one_and_stays_so(memories):
    one, other = memories.of(ONE, "u"), memories.of(OTHER, "u")
    assert one.part(RepairAttempts) is other.part(RepairAttempts)
    assert one.poll is other.poll
    one.keep(one.part(RepairAttempts).started(frozenset("a"), "a", at=1.0))
    assert one.part(RepairAttempts).most_for("a") == 1
    assert other.part(RepairAttempts) == RepairAttempts(repairs={})


def test_each_policy_has_one_part_and_an_empty_one_takes_no_memory(memories):
    one = memories.of(ONE, "u")
    one.keep(RepairAttempts(calm=2))
    one.keep(PutBudget((1.0,)))
    one.keep(RepairAttempts(calm=3))
    assert one.part(RepairAttempts).calm == 3
    assert one.part(PutBudget).sent == (1.0,)
    one.keep(RepairAttempts())
    one.keep(PutBudget())
    assert one._parts == memories.of(OTHER, "u")._parts == ()


def test_what_is_forgotten_is_forgotten_whole(memories):
    held = memories.of(ONE, "u")
    held.failures = 5
    memories.of(OTHER, "w")
    memories.forget(ONE)
    assert ONE not in memories._by_key
    assert OTHER in memories._by_key
    held.failures += 1  # a pass that still runs
    assert ONE not in memories._by_key
    memories.forget(ONE)


def test_an_object_uses_the_content_of_its_last_pass(memories):
    memories.of(ONE, "u").content = "old"
    memories.of(ONE, "u").content = "new"
    assert memories.has_used(ONE, "new")
    assert not memories.has_used(ONE, "old")
    assert not memories.has_used(OTHER, "new")


@pytest.mark.parametrize("ends", ["use", "forget"])
def test_no_content_is_nobodys(memories, ends):
    memories.of(ONE, "u").content = "one"
    if ends == "use":
        memories.of(ONE, "u").content = ""
    else:
        memories.forget(ONE)
    assert not memories.has_used(ONE, "one")
    assert not memories.has_used(ONE, "")


def test_operations_that_came_to_nothing_are_counted_by_spec(memories):
    memory = memories.of(ONE, "u")
    counts = []
    for generation in (1, 1, 2, 2, 2):
        memory.record_failed_operation(generation)
        counts.append(memory.failed_operations)
    assert counts == [1, 2, 1, 2, 3]
    memory.settled()
    memory.record_failed_operation(2)
    assert memory.failed_operations == 1
