"""Whose expression runs next, with time and engines that a test holds."""

import threading

import pytest

from asoreconcile.azure.expressions.api import (
    EnginePool,
    ExpressionLimitError,
    Expressions,
    Limits,
)
from asoreconcile.azure.expressions.process import EngineLimitError
from asoreconcile.base.fair_share import (
    MAX_WAIT_SECONDS,
    EngineBusyError,
    FairShare,
)
from asoreconcile.base.objects import GroupVersionKind
from asoreconcile.testing.clock import FakeClock


class Version:
    gvk = GroupVersionKind("example.azure.com", "v1", "Example")
    schema = None


class Waiters:
    """Threads that want a turn; `order` is who got one, as they did."""

    def __init__(self, turns, clock):
        self.turns, self.clock = turns, clock
        self.order, self.numbers, self.threads = [], {}, []
        self.changed = threading.Condition()

    def want(self, namespace):
        def take():
            try:
                number, _ = self.turns.acquire(namespace)
            except EngineBusyError:
                number = None
            with self.changed:
                self.order.append(namespace)
                self.numbers.setdefault(namespace, []).append(number)
                self.changed.notify_all()

        thread = threading.Thread(target=take, daemon=True)
        before = self.clock.waiting
        thread.start()
        self.threads.append(thread)
        with self.changed:
            self.changed.wait_for(
                lambda: not thread.is_alive() or self.clock.waiting > before, 10
            )

    def got(self, count):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.order) >= count, 10)
            return self.order


class WatchedClock(FakeClock):
    """Counts who waits."""

    waiting = 0

    def wait(self, event, timeout_seconds):
        if event.is_set():
            return True
        self.waiting += 1
        return super().wait(event, timeout_seconds)


@pytest.fixture
def clock():
    return WatchedClock()


def use(turns, namespace, seconds):
    number, _ = turns.acquire(namespace)
    turns.release(number, namespace, seconds)


def test_the_first_engine_does_alone_while_nobody_waits(clock):
    turns = FairShare("abc", clock=clock, work="expressions")
    for _ in range(3):
        number, thing = turns.acquire("n")
        assert (number, thing) == (0, "a")
        turns.release(number, "n", 0.1)


def test_namespaces_that_use_much_leave_an_engine_to_the_others(clock):
    turns = FairShare("abc", clock=clock, work="expressions")
    use(turns, "bad", 5.0)
    use(turns, "worse", 9.0)
    waiters = Waiters(turns, clock)
    for namespace in ("bad", "worse", "bad", "worse"):
        waiters.want(namespace)
    assert sorted(waiters.got(2)) == ["bad", "worse"]
    assert turns.acquire("good")[1] == "c"


def test_who_has_used_little_goes_before_who_came_first(clock):
    turns = FairShare("a", clock=clock, work="expressions")
    use(turns, "bad", 0.5)
    number, _ = turns.acquire("other")
    waiters = Waiters(turns, clock)
    for namespace in ("bad", "bad", "good"):
        waiters.want(namespace)
    turns.release(number, "other", 0.1)
    assert waiters.got(1) == ["good"]


def test_namespaces_alike_take_turns(clock):
    turns = FairShare("a", clock=clock, work="expressions")
    number, _ = turns.acquire("other")
    waiters = Waiters(turns, clock)
    for namespace in ("x", "x", "x", "y"):
        waiters.want(namespace)
    turns.release(number, "other", 0.1)
    for count in range(1, 4):
        done = waiters.got(count)[-1]
        turns.release(0, done, 0.001)
    assert waiters.got(4)[:2] == ["x", "y"]


def test_turns_are_never_lost_whoever_gives_up(clock):
    """Real threads, short patience: in the end everything is free again."""
    turns = FairShare("ab", clock=clock, work="expressions")
    waiters = Waiters(turns, clock)
    turns.acquire("held")
    for namespace in "xxyyzz":
        waiters.want(namespace)
    for _ in range(3):
        clock.advance(MAX_WAIT_SECONDS / 2)
    waiters.got(6)
    for numbers in waiters.numbers.values():
        for number in numbers:
            if number is not None:
                turns.release(number, "x", 0.0)
    turns.release(0, "held", 0.0)
    assert {turns.acquire("p")[0], turns.acquire("q")[0]} == {0, 1}


def test_what_was_used_is_forgotten_in_time(clock):
    turns = FairShare("a", clock=clock, work="expressions")
    use(turns, "once", 1.5)
    clock.advance(120.0)
    use(turns, "other", 0.8)
    number, _ = turns.acquire("last")
    waiters = Waiters(turns, clock)
    waiters.want("other")
    waiters.want("once")
    turns.release(number, "last", 0.0)
    assert waiters.got(1) == ["once"]
    turns.release(number, "once", 0.0)
    assert waiters.got(2) == ["once", "other"]


def test_no_namespace_has_all_engines_not_even_at_first(clock):
    turns = FairShare("abc", clock=clock, work="expressions")
    waiters = Waiters(turns, clock)
    for _ in range(5):
        waiters.want("new")
    assert len(waiters.got(2)) == 2
    assert turns.acquire("good")[1] == "c"


def test_what_is_running_counts_as_used(clock):
    turns = FairShare("abc", clock=clock, work="expressions")
    turns.acquire("x")
    turns.acquire("y")
    clock.advance(2.0)
    waiters = Waiters(turns, clock)
    waiters.want("y")
    assert turns.acquire("good")[1] == "c"


def test_who_waits_too_long_lets_others_go_on(clock):
    turns = FairShare("a", clock=clock, work="expressions")
    number, _ = turns.acquire("bad")
    waiters = Waiters(turns, clock)
    waiters.want("bad")
    clock.advance(MAX_WAIT_SECONDS)
    waiters.got(1)
    assert waiters.numbers == {"bad": [None]}
    turns.release(number, "bad", 1.0)
    assert turns.acquire("good") == (0, "a")


def test_one_engine_is_enough(clock):
    turns = FairShare("a", clock=clock, work="expressions")
    for _ in range(3):
        use(turns, "bad", 5.0)


def test_a_pool_counts_what_each_namespace_takes(clock):
    class Slow:
        def ask(self, request):
            clock.advance(request["seconds"])
            return {"value": "x"}

        def close(self):
            closed.append(self)

    closed = []
    pool = EnginePool(clock=clock, make=Slow, processes=2)
    pool.ask({"seconds": 5.0}, namespace="bad")
    waiters = Waiters(pool._fair_share, clock)
    waiters.want("bad")
    waiters.want("bad")
    assert waiters.got(1) == ["bad"]
    assert pool.ask({"seconds": 0.1}, namespace="good") == {"value": "x"}
    pool.close()
    assert len(closed) == 2


class Limited:
    """An engine that some texts are too much for; counts what it is asked."""

    def __init__(self):
        self.asked = []

    def ask(self, request, *, namespace):
        name = (request.get("self") or {}).get("metadata", {}).get("name", "")
        self.asked.append((request["text"], name))
        if request["text"] == "bomb" or name == "big":
            raise EngineLimitError("takes too much")
        if request["text"] == "wrong":
            return {"error": "at 1:1: no"}
        return {"value": "x", "gives": "string", "secrets": [], "whole": False}


def named(name):
    return {"metadata": {"name": name, "namespace": "n"}}


def test_an_expression_that_asks_for_too_much_is_not_run_again_for_a_while(clock):
    engine = Limited()
    expressions = Expressions(engine, clock=clock)
    for pause in (10, 20, 40):
        for _ in range(3):
            with pytest.raises(ExpressionLimitError, match="takes too much"):
                expressions.check(Version, "bomb")
        clock.advance(pause)
    assert len(engine.asked) == 3
    expressions.check(Version, "fine")


def test_an_object_that_is_too_much_for_an_expression_backs_off_alone(clock):
    engine = Limited()
    expressions = Expressions(engine, clock=clock)
    for _ in range(3):
        with pytest.raises(ExpressionLimitError):
            expressions.evaluate(Version, "fine", obj=named("big"), secrets={})
        expressions.evaluate(Version, "fine", obj=named("small"), secrets={})
    assert engine.asked.count(("fine", "big")) == 1
    assert engine.asked.count(("fine", "small")) == 3


def test_an_expression_that_is_wrong_is_compiled_once(clock):
    engine = Limited()
    expressions = Expressions(engine, clock=clock)
    for _ in range(3):
        with pytest.raises(Exception, match="at 1:1: no"):
            expressions.check(Version, "wrong")
    assert len(engine.asked) == 1


def test_pauses_end_with_a_success_and_never_exceed_ten_minutes(clock):
    limits = Limits(clock)
    for _ in range(20):
        limits.reached("a", "why")
    clock.advance(599)
    assert limits.refusal("a") == "why"
    clock.advance(1)
    assert limits.refusal("a") == ""
    limits.kept("a")
    limits.reached("a", "why")
    clock.advance(10)
    assert limits.refusal("a") == ""
