import threading

from asoreconcile.azure.controllers.kind_registry import failure_limiter, throttle_for
from asoreconcile.azure.controllers.settings import RateLimit
from asoreconcile.testing.clock import FakeClock


def test_each_object_backs_off_on_its_own(clock):
    one, other = failure_limiter(clock), failure_limiter(clock)
    assert [one.delay("a") for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert one.delay("b") == other.delay("a") == 1


def test_no_limit_has_no_turns():
    assert throttle_for(None, FakeClock()) is None


def test_d8_turns_come_at_a_rate_once_the_bucket_is_empty(clock):
    throttle = throttle_for(RateLimit(qps=0.1, bucket_size=2), clock)
    stopped = threading.Event()
    assert throttle.wait(stopped)
    assert throttle.wait(stopped)
    came = []

    def wait():
        came.append((throttle.wait(stopped), clock.monotonic()))

    thread = threading.Thread(target=wait)
    thread.start()
    clock.until_waiting()
    clock.advance(9.9)
    assert came == []
    clock.advance(0.1)
    thread.join(10)
    assert came == [(True, 10.0)]


def test_d8_a_stop_ends_the_wait_for_a_turn(clock):
    throttle = throttle_for(RateLimit(qps=0.1, bucket_size=1), clock)
    stopped = threading.Event()
    assert throttle.wait(stopped)
    came = []
    thread = threading.Thread(target=lambda: came.append(throttle.wait(stopped)))
    thread.start()
    clock.until_waiting()
    stopped.set()
    thread.join(10)
    assert came == [False]
    assert not throttle.wait(stopped)
