"""The controller: sources, workers, outcomes, deadlines, stopping."""

import itertools
import logging
import queue as std
import threading
import uuid
from datetime import timedelta

import pytest

from asoreconcile.base import reconcile_context
from asoreconcile.base.backoff import ItemExponential
from asoreconcile.base.errors import (
    AsoreconcileError,
    RetryError,
    StoppedError,
    TerminalError,
)
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.reconcile_context import deadline, priority, reconcile_id
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Deleted, Updated
from asoreconcile.observability.metrics import RuntimeMetrics
from asoreconcile.runtime.controller import Controller
from asoreconcile.runtime.leaderelection.fence import NotLeadingError
from asoreconcile.runtime.options import ControllerOptions
from asoreconcile.runtime.predicates import generation_changed
from asoreconcile.runtime.reconciler import Request, Result
from asoreconcile.runtime.sources import Watch
from asoreconcile.runtime.worker import Throttle
from asoreconcile.runtime.worker_pool import start_daemon

KEY = ObjectKey("ns", "a")


class HandSource:
    """A source whose events and sync state the test sets."""

    def __init__(self, *initial, synced=True):
        self.initial = initial
        self.synced = synced
        self.handlers = []

    def add_handler(self, handler, *, resync_seconds=0.0):
        self.handlers.append(handler)
        for name in self.initial:
            handler(Added(entry(name), initial=True))
        return HandRegistration(self, handler)

    def has_synced(self):
        return self.synced

    def send(self, event):
        for handler in self.handlers:
            handler(event)


class HandRegistration:
    def __init__(self, source, handler):
        self.source = source
        self.handler = handler

    def has_synced(self):
        return self.source.synced

    def remove(self):
        self.source.handlers.remove(self.handler)


class Remembering(ItemExponential):
    """A limiter that remembers its last key and error."""

    def delay(self, key, error=None):
        self.asked = (key, error)
        return super().delay(key, error)


class Script:
    """A reconciler that does what the test hands it, one step for each pass."""

    def __init__(self):
        self.passes = std.Queue()
        self.steps = std.Queue()

    def reconcile(self, request):
        self.passes.put(request)
        step = self.steps.get(timeout=10)
        if isinstance(step, BaseException):
            raise step
        return step() if callable(step) else step

    def seen(self):
        return self.passes.get(timeout=10).key.name


def entry(name="a", version="1", generation=1):
    meta = {"namespace": "ns", "name": name}
    return Entry(
        {"metadata": {**meta, "resourceVersion": version, "generation": generation}}
    )


@pytest.fixture
def script():
    return Script()


@pytest.fixture
def make(clock, script, registry):
    made = []

    def build(*, kind="", **options):
        options.setdefault("limiter", ItemExponential(1.0, 60.0, clock=clock))
        controller = Controller(
            "vnet",
            script,
            ControllerOptions(**options),
            clock=clock,
            kind=kind,
            metrics=RuntimeMetrics(registry),
        )
        made.append(controller)
        return controller

    yield build
    for controller in made:
        for _ in range(5):
            script.steps.put(Result())
        assert controller.stop(10) == []


@pytest.fixture
def value(registry):
    def read(name, **labels):
        name = f"controller_runtime_{name}"
        return registry.get_sample_value(name, {"controller": "vnet", **labels})

    return read


def until(condition):
    """Wait for what another thread is about to do."""
    for _ in range(5000):
        if condition():
            return
        threading.Event().wait(0.002)
    pytest.fail("it never came to be")


def settled(controller):
    entries = controller._queue._state.entries
    until(lambda: all(entry.taken_at is None for entry in [*entries.values()]))


def test_ct1_nothing_is_reconciled_before_the_sources_have_synced(make, script, clock):
    source = HandSource("a", synced=False)
    controller = make()
    controller.watch(Watch(source))
    controller.start()
    clock.advance(5)
    assert (controller.workers, controller.has_synced) == (0, False)
    source.synced = True
    clock.advance(1)
    assert script.seen() == "a"
    assert controller.has_synced


def test_ct1_a_source_is_looked_at_at_once_and_less_often_the_longer_it_takes(
    make, clock
):
    looks = []

    class Counted(HandSource):
        def add_handler(self, handler, *, resync_seconds=0.0):
            registration = super().add_handler(handler, resync_seconds=resync_seconds)
            registration.has_synced = lambda: looks.append(clock.monotonic())
            return registration

    controller = make(sync_timeout_seconds=1000)
    controller.watch(Watch(Counted()))
    began = clock.monotonic()
    controller.start()
    clock.advance(1)
    assert 10 <= len(looks) <= 11
    clock.advance(99)
    assert len(looks) <= 130
    # Never later than by a tenth of the time waited, nor by more than a second.
    for earlier, later in itertools.pairwise(looks):
        waited = earlier - began
        assert later - earlier <= min(1.0, max(0.1, waited / 10)) + 1e-6


def test_ct1_every_source_must_have_synced(make, clock):
    first, second = HandSource("a"), HandSource(synced=False)
    controller = make()
    controller.watch(Watch(first))
    controller.watch(Watch(second))
    controller.start()
    clock.advance(1)
    assert controller.workers == 0


def test_ct1_a_source_that_stays_unsynced_is_warned_about_once_and_heals(
    make, script, clock, caplog
):
    source = HandSource("a", synced=False)
    controller = make(sync_timeout_seconds=120)
    controller.watch(Watch(source))
    controller.start()
    with caplog.at_level(logging.WARNING):
        clock.advance(300)
    assert len(caplog.records) == 1
    source.synced = True
    clock.advance(2)
    assert script.seen() == "a"


def test_ct1_a_second_start_is_refused(make):
    controller = make()
    controller.start()
    with pytest.raises(RuntimeError, match="started already"):
        controller.start()


def test_ct2_a_watch_added_later_starts_at_once(make, script):
    controller = make()
    controller.start()
    controller.watch(Watch(HandSource("late")))
    assert script.seen() == "late"


def test_ct7_a_standby_queues_nothing_and_reconciles_what_is_there_once_started(
    make, script, value
):
    """What has gone since is not reconciled."""
    source = HandSource("a", "gone")
    controller = make()
    controller.watch(Watch(source))
    controller.warm_up()
    controller.enqueue(ObjectKey("ns", "gone"))
    assert source.handlers == []
    assert (len(controller._queue), controller.workers) == (0, 0)
    source.initial = ["a"]
    controller.start()
    assert len(source.handlers) == 1
    assert script.seen() == "a"
    script.steps.put(Result())
    settled(controller)
    assert value("reconcile_total", result="success") == 1


def test_a_watch_added_while_it_stops_hears_nothing(make):
    controller, source = make(), HandSource()
    controller.start()
    assert controller.stop(10) == []
    controller.watch(Watch(source))
    assert source.handlers == []


def test_pq1_changes_come_before_the_initial_list(make, script):
    source = HandSource("first", "second")
    controller = make()
    controller.watch(Watch(source))
    controller._sources.open()
    source.send(Updated(entry("second"), entry("second", "2")))
    source.send(Updated(entry("first"), entry("first")))
    controller.start()
    assert script.seen() == "second"


def test_predicates_must_all_agree(make):
    source = HandSource()
    controller = make()
    controller.watch(Watch(source, when=generation_changed))
    controller._sources.open()
    source.send(Updated(entry(), entry(version="2")))
    assert len(controller._queue) == 0
    source.send(Updated(entry(), entry(version="2", generation=2)))
    assert len(controller._queue) == 1


def test_a_handler_decides_whom_an_event_concerns(make):
    source = HandSource()
    controller = make()
    keys = [ObjectKey("other", name) for name in ("x", "y")]
    controller.watch(Watch(source, handler=lambda event: map(Request, keys)))
    controller._sources.open()
    source.send(Deleted(entry()))
    assert len(controller._queue) == 2


def run_once(controller, script, step, *, priority=0):
    controller.start()
    controller.enqueue(KEY, priority=priority)
    script.seen()
    script.steps.put(step)
    settled(controller)


def test_ct3_success_clears_the_back_off_and_waits_for_events(make, script, value):
    controller = make()
    controller._queue._limiter.delay(KEY)
    run_once(controller, script, Result())
    assert controller._queue.retries(KEY) == 0
    assert len(controller._queue) == 0
    until(lambda: value("reconcile_total", result="success") == 1)


@pytest.mark.parametrize(
    ("override", "priority"), [(None, 7), (-5, -5)], ids=["PQ-7-kept", "PQ-7-given"]
)
def test_ct3_requeue_after_clears_the_back_off_and_comes_back(
    make, script, clock, value, override, priority
):
    controller = make()
    controller._queue._limiter.delay(KEY)
    result = Result(requeue_after_seconds=30, priority=override)
    run_once(controller, script, result, priority=7)
    assert controller._queue.retries(KEY) == 0
    assert controller._queue._state.entries[KEY].priority == priority
    until(lambda: value("reconcile_total", result="requeue_after") == 1)
    clock.advance(30)
    assert script.seen() == "a"


def test_ct3_requeue_at_once(make, script):
    controller = make()
    controller.start()
    controller.enqueue(KEY)
    script.steps.put(Result(requeue_after_seconds=0))
    assert [script.seen(), script.seen()] == ["a", "a"]


def test_ct3_an_event_beats_a_requeue_unless_told_not_to(make, script, clock):
    controller = make()
    run_once(controller, script, Result(requeue_after_seconds=30, not_before=True))
    controller.enqueue(KEY)
    clock.advance(29)
    assert len(controller._queue) == 0
    clock.advance(1)
    assert script.seen() == "a"


def test_ct3_rl3_an_error_backs_off_and_keeps_the_priority(make, script, clock, value):
    limiter, error = Remembering(1.0, 60.0, clock=clock), AsoreconcileError("no")
    controller = make(limiter=limiter)
    assert value("reconcile_total", result="error") == 0
    run_once(controller, script, error, priority=7)
    assert limiter.asked == (KEY, error)
    assert controller._queue.retries(KEY) == 1
    assert controller._queue._state.entries[KEY].priority == 7
    until(lambda: value("reconcile_errors_total") == 1)
    assert value("reconcile_total", result="error") == 1
    assert value("reconcile_panics_total") == 0
    clock.advance(1)
    assert script.seen() == "a"


def test_ct3_the_back_off_grows_with_each_error_and_only_success_resets_it(
    make, script, clock
):
    controller = make()
    run_once(controller, script, AsoreconcileError("1"))
    for seconds in (1, 2, 4):
        clock.advance(seconds - 0.001)
        assert script.passes.empty()
        clock.advance(0.001)
        script.seen()
        script.steps.put(AsoreconcileError("again"))
        settled(controller)
    clock.advance(8)
    script.seen()
    script.steps.put(Result())
    settled(controller)
    assert controller._queue.retries(KEY) == 0


@pytest.mark.parametrize("wrapped", [False, True], ids=["CT-4-itself", "CT-4-cause"])
def test_a_terminal_error_clears_the_back_off_and_is_not_retried(
    make, script, clock, value, wrapped
):
    error = TerminalError("hopeless")
    if wrapped:
        error = AsoreconcileError("outer")
        error.__cause__ = TerminalError("hopeless")
    controller = make()
    controller._queue._limiter.delay(KEY)
    run_once(controller, script, error)
    assert controller._queue.retries(KEY) == 0
    until(lambda: value("terminal_reconcile_errors_total") == 1)
    assert value("reconcile_errors_total") == 1
    clock.advance(5000)
    assert script.passes.empty()


@pytest.mark.parametrize(
    ("outer", "inner", "retried"),
    [
        (RetryError("later", after_seconds=30), TerminalError("hopeless"), True),
        (TerminalError("hopeless"), RetryError("later", after_seconds=30), False),
    ],
    ids=["CT-4-retry", "CT-4-terminal"],
)
def test_of_two_verdicts_the_outer_one_counts(
    make, script, clock, outer, inner, retried
):
    outer.__cause__ = inner
    run_once(make(), script, outer)
    clock.advance(30)
    if retried:
        assert script.seen() == "a"
    else:
        assert script.passes.empty()


def test_a_plain_function_reconciles(clock):
    seen = std.Queue()

    def reconcile(request):
        seen.put(request.key)
        return Result()

    controller = Controller("plain", reconcile, clock=clock)
    controller.enqueue(KEY)
    controller.start()
    assert seen.get(timeout=10) == KEY
    assert controller.stop(10) == []


async def coroutine_function(request):
    """Nobody awaits it."""


def no_arguments():
    return Result()


def by_keyword(*, request):
    return Result()


def generator_function(request):
    """Nobody iterates over it."""
    yield request


class Unbound:
    @staticmethod
    def reconcile():
        return Result()


class CalledCoroutine:
    async def __call__(self, request):
        return Result()


@pytest.mark.parametrize(
    ("reconciler", "why"),
    [
        (Script, "is a class: give an object of it"),
        (coroutine_function, "coroutine function"),
        (None, "None is no reconciler: give a function"),
        (no_arguments, r"called with \(request\), which it does not take"),
        (lambda namespace, name: Result(), "missing a required argument: 'name'"),
        (by_keyword, r"by_keyword\(\*, request\) is no reconciler"),
        (generator_function, "generator function: a reconciler returns"),
        (Unbound(), r"Unbound.reconcile\(\) is no reconciler"),
        (CalledCoroutine(), "coroutine function"),
    ],
)
def test_what_cannot_reconcile_is_refused_before_anything_runs(clock, reconciler, why):
    with pytest.raises(TypeError, match=why):
        Controller("wrong", reconciler, clock=clock)


def test_rl3_a_retry_error_is_not_tried_before_its_time(make, script, clock):
    controller = make()
    run_once(controller, script, RetryError("throttled", after_seconds=30))
    controller.enqueue(KEY)
    clock.advance(29.9)
    assert script.passes.empty()
    clock.advance(0.1)
    assert script.seen() == "a"


def test_rl3_no_event_makes_it_earlier_than_the_error_allows(make, script, clock):
    controller, source = make(), HandSource()
    controller.watch(Watch(source))
    run_once(controller, script, RetryError("busy", after_seconds=5))
    settled(controller)
    source.send(Updated(entry(), entry(version="2")))
    clock.advance(4.9)
    # Neither ready nor in work: a worker that took it would wait for its step.
    (waiting,) = controller._queue._state.entries.values()
    assert (len(controller._queue), waiting.taken_at) == (0, None)
    clock.advance(0.2)
    assert script.seen() == "a"


@pytest.mark.parametrize("wraps", [False, True])
def test_a_stop_of_another_application_is_an_error_with_a_stack(
    make, script, clock, value, caplog, wraps
):
    """Its client is closed; nothing stops here."""
    error = StoppedError("the client is closed")
    if wraps:
        wrapped = AsoreconcileError("cut short")
        wrapped.__cause__ = error
        error = wrapped
    controller = make()
    run_once(controller, script, error)
    settled(controller)
    assert value("reconcile_errors_total") == 1
    (record,) = [one for one in caplog.records if one.exc_info]
    assert record.exc_info[1] is error
    clock.advance(1)
    assert script.seen() == "a"


def test_a_lease_that_is_over_before_its_end_is_known_has_no_stack(
    make, script, clock, value, caplog
):
    """A process that was suspended may write before its timer tells the controller."""
    controller = make()
    run_once(controller, script, NotLeadingError("this process leads no more"))
    settled(controller)
    assert value("reconcile_errors_total") == 1
    assert not [one for one in caplog.records if one.exc_info]
    clock.advance(1)
    assert script.seen() == "a"


def test_ct6_a_pass_that_has_ended_is_nothing_to_report(make, script, clock, caplog):
    controller = make(idle_seconds=10_000)
    run_once(controller, script, Result())
    settled(controller)
    until(lambda: controller._in_flight.describe() == [])
    clock.advance(9_000)
    controller._in_flight.report_stuck()
    assert not [r for r in caplog.records if "does not end" in r.msg]


def test_ct1_a_gate_that_was_closed_stays_shut(make, clock):
    controller, source = make(), HandSource("a", synced=False)
    controller.watch(Watch(source))
    controller.start()
    assert controller.stop(10) == []
    source.synced = True
    controller._cache_sync.check()
    assert not controller.has_synced


def test_an_error_that_is_its_own_cause_is_an_error(make, script, clock, value):
    error = AsoreconcileError("round and round")
    error.__cause__ = error
    run_once(make(), script, error)
    until(lambda: value("reconcile_errors_total") == 1)
    clock.advance(1)
    assert script.seen() == "a"


def test_ct5_an_unexpected_exception_is_logged_with_its_stack_and_retried(
    make, script, clock, value, caplog
):
    controller = make()
    run_once(controller, script, ZeroDivisionError("bug"))
    until(lambda: value("reconcile_panics_total") == 1)
    assert value("reconcile_errors_total") == 1
    (record,) = [r for r in caplog.records if r.exc_info]
    assert record.exc_info[0] is ZeroDivisionError
    clock.advance(1)
    assert script.seen() == "a", "the worker lives on"


@pytest.mark.parametrize(
    ("step", "said"),
    [
        pytest.param(lambda: None, "returned None: return Result()", id="no-result"),
        pytest.param(SystemExit(2), "2", id="exit"),
    ],
)
def test_ct5_a_reconciler_s_slip_loses_no_object(
    make, script, clock, value, caplog, step, said
):
    """What forgets to answer, or means to end the program, is tried again."""
    controller = make()
    run_once(controller, script, step)
    until(lambda: value("reconcile_panics_total") == 1)
    (record,) = [r for r in caplog.records if r.exc_info]
    assert said in str(record.exc_info[1])
    clock.advance(1)
    assert script.seen() == "a"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda a: Result(requeue_after_seconds=a), id="result"),
        pytest.param(lambda a: RetryError("later", after_seconds=a), id="retry"),
    ],
)
@pytest.mark.parametrize("seconds", [timedelta(minutes=1), "60", float("nan")])
def test_ct5_a_time_that_is_none_is_said_and_tried_again(
    make, script, clock, value, caplog, answer, seconds
):
    """NaN ran without a pause; the others ended in the queue, where nobody knew whose
    they were.
    """
    controller = make()
    run_once(controller, script, lambda: answer(seconds))
    until(lambda: value("reconcile_panics_total") == 1)
    (record,) = [r for r in caplog.records if r.exc_info]
    assert "give a number of seconds" in str(record.exc_info[1])
    clock.advance(1)
    assert script.seen() == "a"


@pytest.mark.parametrize("priority", ["high", float("nan"), 0.5])
def test_pq7_what_is_no_priority_reaches_no_queue(priority):
    with pytest.raises(TypeError, match="give a whole number"):
        Result(requeue_after_seconds=0, priority=priority)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_concurrent_reconciles": 0}, "max_concurrent_reconciles is 0"),
        ({"max_concurrent_reconciles": "4"}, "max_concurrent_reconciles is '4'"),
        ({"deadline_seconds": timedelta(seconds=1)}, "deadline_seconds"),
        ({"deadline_seconds": 0}, "deadline_seconds is 0: give more than 0"),
        ({"deadline_seconds": -1}, "deadline_seconds is -1: give more than 0"),
        ({"sync_timeout_seconds": -1}, "sync_timeout_seconds is -1: give 0 or more"),
        ({"idle_seconds": -1}, "idle_seconds is -1: give 0 or more"),
        ({"idle_seconds": float("nan")}, "idle_seconds"),
        ({"sync_timeout_seconds": None}, "sync_timeout_seconds"),
    ],
)
def test_options_with_which_nothing_would_run_are_refused(options, said):
    with pytest.raises((TypeError, ValueError), match=said):
        ControllerOptions(**options)


def test_what_is_no_time_is_refused_by_enqueue(make):
    with pytest.raises(TypeError, match="give a number of seconds"):
        make().enqueue(ObjectKey("ns", "a"), after_seconds=timedelta(minutes=1))


def test_a_stopped_reconcile_unwinds_quietly(make, script, value, caplog):
    controller = make()

    def stopped():
        controller._worker.stopping.stop()
        raise StoppedError

    run_once(controller, script, stopped)
    assert value("reconcile_errors_total") == 0
    assert value("reconcile_total", result="error") == 0
    assert not caplog.records


def test_ct6_the_deadline_is_known_within_and_its_passing_counted(
    make, script, clock, value
):
    known = std.Queue()

    def slow():
        known.put(deadline())
        clock.advance(61)
        return Result()

    controller = make(deadline_seconds=60)
    run_once(controller, script, slow)
    assert known.get(timeout=10) == 60
    until(lambda: value("reconcile_timeouts_total") == 1)
    assert value("reconcile_time_seconds_sum") == 61
    assert deadline() is None


def test_ct6_what_takes_long_can_ask_whether_its_time_is_over(make, script, clock):
    late = std.Queue()

    def slow():
        reconcile_context.check()
        clock.advance(3)
        reconcile_context.check()
        clock.advance(3)
        late.put(True)
        reconcile_context.check()
        pytest.fail("went on")

    controller = make(deadline_seconds=5)
    run_once(controller, script, slow)
    assert late.get(timeout=10)
    settled(controller)
    assert controller._queue.retries(KEY) == 1


def test_ct6_a_pause_ends_with_the_time_or_with_the_controller(make, script, clock):
    raised = std.Queue()

    def waits():
        try:
            reconcile_context.pause(60)
        except (reconcile_context.DeadlineError, StoppedError) as error:
            raised.put(type(error))
            raise

    controller = make(deadline_seconds=5)
    controller.start()
    script.steps.put(waits)
    controller.enqueue(KEY)
    assert script.seen() == "a"
    clock.until_waiting()
    clock.advance(5)
    assert raised.get(timeout=10) is reconcile_context.DeadlineError
    settled(controller)
    script.steps.put(waits)
    controller.enqueue(ObjectKey("ns", "b"))
    assert script.seen() == "b"
    clock.until_waiting()
    assert controller.stop(10) == []
    assert raised.get(timeout=10) is StoppedError


def test_ct6_outside_a_reconcile_there_is_nothing_to_ask():
    reconcile_context.check()
    with pytest.raises(RuntimeError, match="no reconcile"):
        reconcile_context.pause(1)


def test_ct6_a_reconcile_in_time_is_no_timeout(make, script, clock, value):
    controller = make(deadline_seconds=60)
    run_once(controller, script, AsoreconcileError("no"))
    until(lambda: value("reconcile_errors_total") == 1)
    assert value("reconcile_timeouts_total") == 0


def test_ct6_a_stuck_reconcile_is_reported_once_with_its_stack(
    make, script, clock, caplog
):
    controller = make(deadline_seconds=60, idle_seconds=30)
    controller.start()
    controller.enqueue(KEY)
    script.seen()
    clock.advance(59)
    assert not caplog.records
    clock.advance(120)
    (record,) = caplog.records
    fields = record.asoreconcile_fields
    assert (fields["controller"], fields["name"]) == ("vnet", "a")
    assert "in reconcile" in fields["stack"]


def test_ct8_reconciles_run_at_once_up_to_the_limit_and_never_two_of_a_key(
    make, script, value
):
    controller = make(max_concurrent_reconciles=3)
    controller.start()
    for name in "abcde":
        controller.enqueue(ObjectKey("ns", name))
    running = {script.seen() for _ in range(3)}
    controller.enqueue(ObjectKey("ns", "a"))
    assert running == {"a", "b", "c"}
    assert controller.workers == 3
    assert script.passes.empty()
    assert value("active_workers") == 3
    assert value("max_concurrent_reconciles") == 3


def test_ct9_records_within_carry_the_identity_and_a_fresh_id(make, script, caplog):
    ids = []

    def speak():
        ids.append(reconcile_id())
        Logger("asoreconcile.test").warning("Speaking")
        return Result()

    controller = make(kind="VirtualNetwork")
    run_once(controller, script, speak)
    controller.enqueue(KEY)
    script.seen()
    script.steps.put(speak)
    settled(controller)
    first, second = [record.asoreconcile_fields for record in caplog.records]
    assert first == {
        "controller": "vnet",
        "controllerKind": "VirtualNetwork",
        "namespace": "ns",
        "name": "a",
        "reconcileID": ids[0],
    }
    assert uuid.UUID(ids[0]) != uuid.UUID(second["reconcileID"])
    assert reconcile_id() == ""


def test_pq7_within_a_pass_its_priority_is_known(make, script):
    seen = []

    def look():
        seen.append(priority())
        return Result()

    run_once(make(), script, look, priority=-100)
    assert (seen, priority()) == ([-100], 0)


def test_th8_workers_start_when_needed_and_leave_when_idle(make, script, clock):
    controller = make(max_concurrent_reconciles=4, idle_seconds=30)
    controller.start()
    assert controller.workers == 0
    for name in "ab":
        controller.enqueue(ObjectKey("ns", name))
    assert {script.seen(), script.seen()} == {"a", "b"}
    assert controller.workers == 2
    for _ in range(2):
        script.steps.put(Result())
    until(lambda: controller._queue._waiting == 2)
    for _ in range(3):
        clock.advance(30)
    until(lambda: controller.workers == 0)
    controller.enqueue(KEY)
    assert script.seen() == "a"


def test_a_stop_reports_what_still_runs(make, script, clock):
    controller = make()
    controller.start()
    controller.enqueue(KEY)
    controller.enqueue(ObjectKey("ns", "queued"))
    script.seen()
    clock.advance(2.5)
    assert controller.stop(0) == ["vnet ns/a (2.5 s)"]
    script.steps.put(Result())
    assert controller.stop(10) == []
    assert script.passes.empty(), "nothing new is begun"


def test_a_stop_takes_its_handlers_away(make):
    source = HandSource()
    controller = make()
    controller.watch(Watch(source))
    controller.start()
    controller.stop(10)
    assert source.handlers == []


def test_d8_every_reconcile_waits_for_its_turn(make, script, clock):
    """Events too, which no limiter of a queue sees."""
    controller = make(throttle=Throttle(0.5, 1, clock=clock))
    controller.watch(Watch(HandSource("a", "b")))
    script.steps.put(Result())
    controller.start()
    assert script.seen() == "a"
    clock.until_waiting()
    clock.advance(1.9)
    assert script.passes.empty()
    clock.advance(0.1)
    assert script.seen() == "b"


def test_d8_a_turn_s_wait_is_not_held_against_the_deadline(make, script, clock):
    seen = std.Queue()
    throttle = Throttle(0.1, 1, clock=clock)
    assert throttle.wait(threading.Event())
    controller = make(throttle=throttle, deadline_seconds=5.0)
    script.steps.put(lambda: seen.put(deadline()) or Result())
    controller.enqueue(KEY)
    controller.start()
    clock.until_waiting()
    clock.advance(10.0)
    assert seen.get(timeout=10) == 15.0


def test_d8_a_stop_does_not_wait_for_turns(make, script, clock):
    throttle = Throttle(0.1, 1, clock=clock)
    assert throttle.wait(threading.Event())
    controller = make(throttle=throttle)
    controller.enqueue(KEY)
    controller.start()
    clock.until_waiting()
    assert controller.stop(10) == []
    assert script.passes.empty()


def test_d8_there_is_no_turn_for_who_stops(clock):
    throttle, stopped = Throttle(1.0, 5, clock=clock), threading.Event()
    assert throttle.wait(stopped)
    stopped.set()
    assert not throttle.wait(stopped)


def test_progress_fails_when_all_workers_hang_and_others_wait(make, script, clock):
    controller = make()
    controller.start()
    controller.enqueue(KEY)
    script.seen()
    clock.advance(1000)
    assert controller.liveness().ok, "nobody waits"
    controller.enqueue(ObjectKey("ns", "b"))
    verdict = controller.liveness()
    assert not verdict.ok
    assert verdict.details == ("vnet ns/a (1000.0 s)",)


def test_progress_fails_when_no_worker_can_be_started_for_a_minute(make, script, clock):
    """A worker that was refused is not lost silently: it comes, or the process goes."""
    threads = []

    def start(name, target):
        if not threads:
            raise RuntimeError("can't start new thread")
        threads.pop()(name, target)

    controller = make()
    controller._pool._start_thread = start
    controller.start()
    controller.enqueue(KEY)
    clock.advance(59)
    assert controller.liveness().ok
    clock.advance(1)
    verdict = controller.liveness()
    assert not verdict.ok
    assert verdict.details == ("vnet: no thread to be had for 60 s",)
    threads.append(start_daemon)
    clock.advance(1)
    script.steps.put(Result())
    assert script.seen() == "a"
    assert controller.liveness().ok
