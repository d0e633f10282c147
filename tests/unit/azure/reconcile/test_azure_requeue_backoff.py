import pytest

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.reconcile.state.memory import ObjectMemory
from asoreconcile.azure.reconcile.state.requeue_backoff import RequeueBackoff


def make(sync=3600.0, jitter=1.0):
    return RequeueBackoff(sync_period_seconds=sync, uniform=lambda _low, _high: jitter)


def failure(retry=RetryClass.SLOW, *, severity="Warning", after=0.0):
    return ConditionError(
        "x", reason="R", retry=retry, severity=severity, after_seconds=after
    )


@pytest.mark.parametrize(
    ("retry", "expected"),
    [
        (RetryClass.FAST, [1, 2, 4, 8, 16, 30, 30]),
        (RetryClass.SLOW, [1, 2, 4, 8, 16, 32, 64, 128, 180, 180]),
        (RetryClass.VERY_SLOW, [3600, 3600, 3600]),
    ],
)
def test_r4_1_sequences(retry, expected):
    requeue_backoff, memory = make(), ObjectMemory("u")
    assert [
        requeue_backoff.failed(memory, failure(retry)) for _ in expected
    ] == expected


@pytest.mark.parametrize("first", RetryClass)
def test_r4_1_one_count_for_all_classes(first):
    requeue_backoff, memory = make(), ObjectMemory("u")
    requeue_backoff.failed(memory, failure(first))
    assert requeue_backoff.failed(memory, failure(RetryClass.SLOW)) == 2


def test_r4_3_an_error_resets_the_count():
    """What comes after it is another trouble."""
    requeue_backoff, memory = make(), ObjectMemory("u")
    for error in (failure(), failure(), failure(severity="Error")):
        requeue_backoff.failed(memory, error)
    assert requeue_backoff.failed(memory, failure()) == 1


def test_r4_3_success_resets_the_count():
    requeue_backoff, memory = make(), ObjectMemory("u")
    requeue_backoff.failed(memory, failure())
    requeue_backoff.failed(memory, failure())
    memory.reset_failures()
    assert requeue_backoff.failed(memory, failure()) == 1


@pytest.mark.parametrize(
    "error",
    [
        failure(after=7000.0),
        failure(RetryClass.FAST, after=7000.0),
        failure(RetryClass.VERY_SLOW, after=7000.0),
        failure(severity="Error", after=7000.0),
    ],
    ids=["slow", "fast", "very-slow", "error"],
)
def test_d4_retry_after_is_a_lower_bound(error):
    assert make().failed(ObjectMemory("u"), error) == 7000.0


def test_d7_objects_do_not_share_counts():
    requeue_backoff, memory = make(), ObjectMemory("u")
    requeue_backoff.failed(memory, failure())
    assert requeue_backoff.failed(ObjectMemory("other"), failure()) == 1


def test_d19_error_is_retried_very_slowly():
    assert (
        make(sync=600.0).failed(ObjectMemory("u"), failure(severity="Error")) == 600.0
    )
    assert (
        make(sync=None).failed(ObjectMemory("u"), failure(severity="Error")) == 3600.0
    )


def test_resync_is_jittered_by_a_quarter():
    bounds = []
    requeue_backoff = RequeueBackoff(
        sync_period_seconds=900.0,
        uniform=lambda low, high: bounds.append((low, high)) or 1.0,
    )
    assert requeue_backoff.resync(900.0) == 900.0
    assert bounds == [(0.75, 1.25)]


def test_never_means_no_resync():
    assert make(sync=900.0).resync(None) is None
