from asoreconcile.controllers.limiters import Limiters
from asoreconcile.controllers.settings import RateLimit
from asoreconcile.testing.clock import FakeClock


def test_each_object_backs_off_on_its_own():
    limiters = Limiters(None, clock=FakeClock())
    one, other = limiters.make(), limiters.make()
    assert [one.delay("a") for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert one.delay("b") == other.delay("a") == 1


def test_a_bucket_is_shared_by_all_controllers():
    limiters = Limiters(RateLimit(qps=0.1, bucket_size=2), clock=FakeClock())
    delays = [limiters.make().delay("a") for _ in range(4)]
    assert delays == [1, 1, 10, 20]
