"""The documents' promises about the sync period and its costs."""

import random

import pytest
from world import World, resource_group

from asoreconcile.azure.controllers.settings import from_environment
from asoreconcile.azure.reconcile.state.requeue_backoff import RequeueBackoff
from asoreconcile.queue.workqueue import WorkQueue
from asoreconcile.testing.clock import FakeClock

HOUR = 3600.0
SETTINGS = {
    "POD_NAMESPACE": "azure-operator",
    "AZURE_SUBSCRIPTION_ID": "00000000-0000-0000-0000-000000000000",
    "AZURE_TENANT_ID": "00000000-0000-0000-0000-000000000000",
    "AZURE_CLIENT_ID": "00000000-0000-0000-0000-000000000000",
}


def period_of(text):
    return from_environment(
        {**SETTINGS, **({"AZURE_SYNC_PERIOD": text} if text else {})}
    )


def passes_in(seconds, *, resources, period_seconds):
    """How often resources in order are looked at, in their queue, in a stretch of time
    that begins when they have settled into their rhythm.
    """
    clock = FakeClock()
    requeue_backoff = RequeueBackoff(
        sync_period_seconds=period_seconds, uniform=random.Random(7).uniform
    )
    queue = WorkQueue("any", clock=clock)
    for n in range(resources):
        queue.add_after(n, requeue_backoff.resync(period_seconds))
    counted = 0
    end = 2 * period_seconds + seconds
    step = period_seconds / 30
    while clock.monotonic() < end:
        clock.advance(step)
        while len(queue):
            item = queue.get()
            counted += clock.monotonic() > 2 * period_seconds
            queue.add_after(item.key, requeue_backoff.resync(period_seconds))
            queue.done(item.key)
    queue.shut_down()
    return counted


@pytest.mark.parametrize(
    ("resources", "period", "an_hour"),
    [
        (300, "15m", 1200),
        (1000, "15m", 4000),
        (1200, "1h", 1200),
        (1200, "", 1200),
        (2880, "24h", 120),
    ],
    ids=lambda value: str(value) or "default",
)
def test_idle_requests_an_hour_are_resources_times_sixty_over_the_period(
    resources, period, an_hour
):
    period_seconds = period_of(period).sync_period_seconds
    assert resources * HOUR / period_seconds == an_hour
    stretch = 2 * period_seconds
    passes = passes_in(stretch, resources=resources, period_seconds=period_seconds)
    # The jitter is symmetric, but a mean of reciprocals is a little over one, and each
    # look rounds up to the step.
    assert passes * HOUR / stretch == pytest.approx(an_hour, rel=0.08)


def test_never_means_no_idle_requests():
    assert period_of("never").sync_period_seconds is None


@pytest.mark.parametrize("period", ["15m", "1h", "24h"])
def test_each_sync_is_within_a_quarter_of_the_period(period):
    period_seconds = period_of(period).sync_period_seconds
    delays = {
        RequeueBackoff(
            sync_period_seconds=period_seconds, uniform=random.Random(seed).uniform
        ).resync(period_seconds)
        for seed in range(200)
    }
    assert len(delays) == 200
    assert min(delays) >= 0.75 * period_seconds
    assert max(delays) < 1.25 * period_seconds


def test_each_sync_is_one_put_between_two_reads(tmp_path):
    with World(tmp_path) as world:
        world.install("resources.azure.com/ResourceGroup")
        obj = resource_group()
        world.apply(obj)
        world.settle(obj)
        for syncs in (1, 2, 3):
            world.azure.journal.clear()
            assert world.run(obj).requeue_after_seconds == HOUR
            world.clock.advance(HOUR)
            methods = [request.method for request in world.azure.journal]
            # The read before the PUT finds foreign tags, which the PUT keeps.
            assert methods == ["GET", "PUT", "GET"], f"sync {syncs}"
