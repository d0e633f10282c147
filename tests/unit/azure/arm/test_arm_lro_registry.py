"""The wait before polls when many operations are open."""

from asoreconcile.azure.arm.budget import LroRegistry
from asoreconcile.testing.clock import FakeClock


def test_t9_five_hundred_operations_share_the_reads():
    operations = LroRegistry(FakeClock())
    waits = [
        operations.running("s", str(number), 15.0, reads_left=0)
        for number in range(500)
    ]
    assert waits[:187] == [15.0] * 187
    assert waits[-1] == 40.0


def test_t9_subscriptions_are_counted_apart_and_without_case():
    operations = LroRegistry(FakeClock())
    for number in range(100):
        operations.running("s", str(number), 1.0)
    assert operations.running("t", "a", 1.0) == 1.0
    assert operations.running("S", "100", 1.0, reads_left=0) == 101 / 12.5


def test_t9_an_operation_that_ended_counts_no_more():
    operations = LroRegistry(FakeClock())
    for number in range(100):
        operations.running("s", str(number), 1.0)
    for number in range(100):
        operations.ended("s", str(number))
        operations.ended("s", str(number))
    assert operations.count("s") == 0


def test_t9_one_operation_polled_often_counts_once():
    operations = LroRegistry(FakeClock())
    for _ in range(100):
        operations.running("s", "a", 1.0)
    assert operations.count("s") == 1


def test_t9_operations_that_nobody_polls_any_more_drop_out(clock):
    operations = LroRegistry(clock)
    for number in range(100):
        operations.running("s", str(number), 10.0)
    clock.advance(911)
    assert operations.running("s", "new", 1.0) == 1.0
    assert operations.count("s") == 1
