"""The manager: order, failures, the stop budget, leadership."""

import threading

import pytest
from quickclock import QuickClock

from asoreconcile.base import reconcile_context
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.stop_signal import StopSignal
from asoreconcile.base.threads import NoThreadError
from asoreconcile.kube.errors import ApiError, TransportError
from asoreconcile.runtime.manager import LeadershipLostError, Manager, ManagerError
from asoreconcile.runtime.runnable import RunnableFunc, RunnableGroup, RunnableHooks
from asoreconcile.testing.clock import FakeClock


class Journal:
    def __init__(self):
        self.lines = []
        self.changed = threading.Condition()

    def note(self, line):
        with self.changed:
            self.lines.append(line)
            self.changed.notify_all()

    def wait_for(self, line):
        with self.changed:
            assert self.changed.wait_for(lambda: line in self.lines, timeout=10)


class Recorded:
    """A service that writes down what happens to it."""

    def __init__(self, name, journal, *, left=(), error=None, on_stop=lambda: None):
        self.name = name
        self.journal = journal
        self.left = list(left)
        self.error = error
        self.on_stop = on_stop

    def start(self):
        self.journal.note(f"start {self.name}")
        if self.error:
            raise self.error

    def stop(self, timeout_seconds):
        self.timeout_seconds = timeout_seconds
        self.on_stop()
        self.journal.note(f"stop {self.name}")
        return self.left


class Warmed(Recorded):
    def warm_up(self):
        self.journal.note(f"warm {self.name}")


class HandElector:
    """Elects and deposes when the test says so."""

    def __init__(self, journal):
        self.journal = journal
        self.ready = threading.Event()

    def start(self, *, elected, lost):
        self.journal.note("election")
        self.elected, self.lost = elected, lost
        self.ready.set()

    def stop(self, timeout_seconds, *, release):
        self.timeout_seconds = timeout_seconds
        self.journal.note("released" if release else "kept the lease")
        return []


@pytest.fixture
def journal():
    return Journal()


class Running:
    """A manager's run on a thread."""

    def __init__(self, manager):
        self.manager = manager
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        self.code = self.manager.run()

    def exit_code(self):
        self.thread.join(10)
        assert not self.thread.is_alive()
        return self.code


def test_mg1_mg4_groups_start_and_stop_in_their_order(clock, journal):
    manager = Manager(clock=clock)
    for group in reversed(RunnableGroup):
        manager.add(Recorded(group.name, journal), group=group)
    running = Running(manager)
    journal.wait_for("start LEADER")
    manager.stop()
    assert running.exit_code() == 0
    assert journal.lines == [
        "start RECORDERS",
        "start SERVERS",
        "start WEBHOOKS",
        "start CACHES",
        "start OTHERS",
        "start LEADER",
        "stop OTHERS",
        "stop LEADER",
        "stop RECORDERS",
        "stop CACHES",
        "stop WEBHOOKS",
        "stop SERVERS",
    ]


class Caches:
    """Caches that can be read when the test says so."""

    ready = False

    def __call__(self):
        return self.ready


@pytest.fixture
def caches():
    return Caches()


def test_mg1_services_start_once_the_caches_can_be_read(clock, journal, caches):
    """Controllers, which wait for their own sources, and what caches wait for do not."""
    manager = Manager(clock=clock, caches_ready=caches)
    for group in (RunnableGroup.LEADER, RunnableGroup.OTHERS):
        manager.add(Recorded(f"reader {group.name}", journal), group=group)
        manager.add(Warmed(f"controller {group.name}", journal), group=group)
        crds = Recorded(f"crds {group.name}", journal)
        manager.add(crds, group=group, after_caches=False)
    running = Running(manager)
    journal.wait_for("start crds LEADER")
    before = [
        "start controller OTHERS",
        "start crds OTHERS",
        "warm controller LEADER",
        "start controller LEADER",
        "start crds LEADER",
    ]
    clock.advance(10)
    assert journal.lines == before
    caches.ready = True
    clock.advance(0.1)
    journal.wait_for("start reader LEADER")
    assert journal.lines == [*before, "start reader OTHERS", "start reader LEADER"]
    manager.stop()
    assert running.exit_code() == 0
    assert {"stop reader OTHERS", "stop reader LEADER"} <= set(journal.lines)


def test_mg1_what_comes_after_a_step_finds_it_done(clock, journal, caches):
    manager = Manager(clock=clock, caches_ready=caches)
    manager.add(RunnableHooks("migrate", lambda: journal.note("migrated")))
    manager.add(Warmed("controller", journal))
    manager.add(Recorded("more", journal))
    running = Running(manager)
    journal.wait_for("warm controller")
    clock.advance(1)
    assert journal.lines == ["warm controller"]
    caches.ready = True
    clock.advance(0.1)
    journal.wait_for("start more")
    assert journal.lines[1:] == ["migrated", "start controller", "start more"]
    manager.stop()
    assert running.exit_code() == 0


def test_mg1_a_late_service_waits_for_a_late_cache(clock, journal, caches):
    caches.ready = True
    manager = Manager(clock=clock, caches_ready=caches)
    manager.add(Recorded("first", journal))
    running = Running(manager)
    journal.wait_for("start first")
    caches.ready = False
    manager.add(Recorded("late", journal))
    clock.advance(5)
    assert journal.lines == ["start first"]
    caches.ready = True
    clock.advance(0.1)
    journal.wait_for("start late")
    manager.stop()
    assert running.exit_code() == 0


def test_mg4_what_waits_for_caches_is_not_started_by_a_stop(clock, journal, caches):
    manager = Manager(clock=clock, caches_ready=caches)
    manager.add(Recorded("reader", journal))
    manager.add(Recorded("crds", journal), after_caches=False)
    running = Running(manager)
    journal.wait_for("start crds")
    manager.stop()
    assert running.exit_code() == 0
    caches.ready = True
    clock.advance(1)
    assert journal.lines == ["start crds", "stop crds"]


def test_mg4_a_stop_waits_for_a_held_service_that_is_being_started(journal, caches):
    caches.ready, clock = False, SystemClock()
    begun, finish = threading.Event(), threading.Event()

    def migrate():
        begun.set()
        assert finish.wait(10)
        journal.note("migrated")

    manager = Manager(clock=clock, caches_ready=caches)
    manager.add(RunnableHooks("migrate", migrate))
    running = Running(manager)
    caches.ready = True
    assert begun.wait(10)
    manager.stop()
    finish.set()
    assert running.exit_code() == 0
    assert journal.lines == ["migrated"]


def test_mg2_a_service_added_while_running_starts_at_once(clock, journal):
    manager = Manager(clock=clock)
    manager.add(Recorded("first", journal))
    running = Running(manager)
    journal.wait_for("start first")
    manager.add(Recorded("late", journal))
    journal.wait_for("start late")
    manager.stop()
    assert running.exit_code() == 0
    assert "stop late" in journal.lines


def test_mg2_nothing_can_be_added_once_stopped(clock, journal):
    manager = Manager(clock=clock)
    manager.stop()
    manager.run()
    with pytest.raises(ManagerError, match="stopping"):
        manager.add(Recorded("late", journal))


def test_ct8_names_are_unique(clock, journal):
    manager = Manager(clock=clock)
    manager.add(Recorded("vnet", journal))
    with pytest.raises(ManagerError, match="vnet"):
        manager.add(Recorded("vnet", journal))


def test_mg3_a_service_that_cannot_start_stops_everything(clock, journal):
    manager = Manager(clock=clock)
    error = OSError("port taken")
    manager.add(Recorded("cache", journal), group=RunnableGroup.CACHES)
    manager.add(Recorded("other", journal, error=error), group=RunnableGroup.OTHERS)
    manager.add(Recorded("never", journal))
    assert manager.run() == 1
    assert manager.failure is error
    assert journal.lines == ["start cache", "start other", "stop other", "stop cache"]


@pytest.mark.parametrize(
    ("error", "has_stack"),
    [
        (OSError("port taken"), True),
        (NoThreadError("no thread 'events': can't start new thread"), False),
    ],
)
def test_a_failed_start_shows_a_stack_where_its_words_are_not_ours(
    clock, journal, caplog, error, has_stack
):
    manager = Manager(clock=clock)
    manager.add(Recorded("other", journal, error=error))
    assert manager.run() == 1
    (said,) = [r for r in caplog.records if r.msg == "Service failed to start"]
    assert bool(said.exc_info) == has_stack
    assert has_stack or said.asoreconcile_fields["error"] == str(error)


class Struggling(Recorded):
    """Starts once its errors are used up."""

    def start(self):
        self.journal.note(f"start {self.name}")
        if self.error:
            raise self.error.pop(0)


def test_a_start_is_tried_again_while_the_api_server_may_be_starting_too(journal):
    errors = [TransportError("refused"), ApiError("busy", status=503)]
    clock = QuickClock()
    manager = Manager(clock=clock)
    manager.add(Struggling("certificates", journal, error=errors))
    manager.add(RunnableHooks("end", manager.stop))
    assert manager.run() == 0
    assert journal.lines[:3] == ["start certificates"] * 3
    assert [0.4 <= clock.pauses[0] <= 0.6, 0.8 <= clock.pauses[1] <= 1.2] == [
        True,
        True,
    ]


def test_a_start_that_waits_for_the_api_server_ends_with_the_manager(journal):
    clock, codes = FakeClock(), []
    manager = Manager(clock=clock)
    manager.add(Struggling("one", journal, error=[TransportError("refused")] * 9))
    thread = threading.Thread(target=lambda: codes.append(manager.run()))
    thread.start()
    clock.until_waiting()
    manager.stop()
    thread.join(10)
    assert codes == [0]
    assert manager.failure is None
    assert journal.lines.count("start one") == 1


def test_mg3_a_task_that_fails_stops_everything(clock, journal):
    def fail(stop):
        raise ValueError("broken")

    manager = Manager(clock=clock)
    manager.add(Recorded("other", journal), group=RunnableGroup.OTHERS)
    manager.add(RunnableFunc("failing", fail, clock=clock))
    assert manager.run() == 1
    assert isinstance(manager.failure, ValueError)
    assert journal.lines == ["start other", "stop other"]


def test_mg3_the_first_failure_is_the_one_that_is_told(clock, journal):
    both = threading.Barrier(2)
    manager = Manager(clock=clock)

    def first(_stop):
        raise ZeroDivisionError

    def second(stop):
        both.wait(10)
        stop.wait(10)
        raise KeyError

    def hold(_stop):
        both.wait(10)

    for name, run in (("second", second), ("hold", hold)):
        manager.add(RunnableFunc(name, run, clock=clock), group=RunnableGroup.OTHERS)
    manager.add(RunnableFunc("first", first, clock=clock))
    assert Running(manager).exit_code() == 1
    assert isinstance(manager.failure, ZeroDivisionError)


def leave():
    """What a command does, and a controller's code must not: it would end a thread."""
    raise SystemExit(3)


@pytest.mark.parametrize("elected", [False, True])
def test_mg3_a_step_that_means_to_end_the_program_stops_it_in_order(journal, elected):
    """On the thread of an election it ended just that: nobody led, nothing was said."""
    elector = HandElector(journal) if elected else None
    manager = Manager(clock=SystemClock(), elector=elector)
    manager.add(Recorded("probes", journal), group=RunnableGroup.SERVERS)
    manager.add(RunnableHooks("step", leave))
    running = Running(manager)
    if elector:
        manager.started.wait(10)
        elector.elected()
    assert manager.stopping.wait(10)
    assert running.exit_code() == 1
    assert isinstance(manager.failure, SystemExit)
    assert "stop probes" in journal.lines


def test_mg3_a_held_back_step_that_means_to_end_the_program_stops_it(journal):
    ready = threading.Event()
    manager = Manager(clock=SystemClock(), caches_ready=ready.is_set)
    manager.add(RunnableHooks("step", leave))
    running = Running(manager)
    manager.started.wait(10)
    ready.set()
    assert manager.stopping.wait(10)
    assert running.exit_code() == 1
    assert isinstance(manager.failure, SystemExit)


def test_mg3_a_task_that_means_to_end_the_program_stops_it(clock):
    manager = Manager(clock=clock)
    manager.add(RunnableFunc("task", lambda _stop: leave(), clock=clock))
    running = Running(manager)
    assert manager.stopping.wait(10)
    assert running.exit_code() == 1
    assert isinstance(manager.failure, SystemExit)


def test_mg4_what_ends_the_wait_stops_what_was_started(clock, journal):
    """As Ctrl-C does where nobody handles signals."""
    manager = Manager(clock=clock)
    manager.add(Recorded("vnet", journal), group=RunnableGroup.OTHERS)

    def interrupted():
        raise KeyboardInterrupt

    manager.stopping.wait = interrupted
    with pytest.raises(KeyboardInterrupt):
        manager.run()
    assert journal.lines == ["start vnet", "stop vnet"]


def test_mg3_a_task_that_unwinds_because_all_stops_has_not_failed(clock):
    manager = Manager(clock=clock)

    def run(stop):
        stop.wait(10)
        raise StoppedError("the client is closed")

    manager.add(RunnableFunc("task", run, clock=clock))
    running = Running(manager)
    manager.stop()
    assert running.exit_code() == 0
    assert manager.failure is None


def test_mg3_a_task_may_end_early(clock, journal):
    manager = Manager(clock=clock)
    manager.add(
        RunnableFunc("short", lambda stop: journal.note("short is over"), clock=clock)
    )
    running = Running(manager)
    journal.wait_for("short is over")
    manager.stop()
    assert running.exit_code() == 0


def test_mg3_a_manager_runs_once(clock):
    manager = Manager(clock=clock)
    manager.stop()
    manager.run()
    with pytest.raises(ManagerError, match="once"):
        manager.run()


def test_mg4_what_is_left_running_makes_the_exit_code_1(clock, journal, caplog):
    manager = Manager(clock=clock)
    manager.add(Recorded("vnet", journal, left=["vnet ns/a (3.0 s)"]))
    running = Running(manager)
    journal.wait_for("start vnet")
    manager.stop()
    assert running.exit_code() == 1
    fields = caplog.records[-1].asoreconcile_fields
    assert fields["running"] == ["vnet ns/a (3.0 s)"]


def test_mg4_one_budget_covers_the_whole_stop(clock, journal):
    manager = Manager(clock=clock, grace_seconds=25)
    slow = Recorded("slow", journal, on_stop=lambda: clock.advance(10))
    late = Recorded("late", journal)
    manager.add(slow, group=RunnableGroup.OTHERS)
    manager.add(late, group=RunnableGroup.SERVERS)
    running = Running(manager)
    journal.wait_for("start slow")
    manager.stop()
    running.exit_code()
    assert (slow.timeout_seconds, late.timeout_seconds) == (25, 15)


def test_th9_a_stop_cuts_short_what_a_start_asks(journal):
    """Its requests heed the stop as those of a reconcile do."""
    manager = Manager(clock=SystemClock(), grace_seconds=60)
    starting = Recorded("starting", journal)

    def start():
        journal.note("start starting")
        reconcile_context.wait(StopSignal())

    starting.start = start
    manager.add(starting, group=RunnableGroup.WEBHOOKS)
    never = Recorded("never", journal)
    manager.add(never, group=RunnableGroup.CACHES)
    running = Running(manager)
    journal.wait_for("start starting")
    manager.stop()
    assert running.exit_code() == 0
    assert journal.lines == ["start starting", "stop starting"]


def test_mg4_what_a_start_takes_counts_as_the_stop_s_time(clock, journal):
    manager = Manager(clock=clock, grace_seconds=20)
    slow = Recorded("slow", journal)

    def start():
        journal.note("start slow")
        assert manager.stopping.wait(10)
        assert reconcile_context.seconds_left() == 16
        clock.advance(15)
        raise StoppedError

    slow.start = start
    manager.add(slow, group=RunnableGroup.WEBHOOKS)
    running = Running(manager)
    journal.wait_for("start slow")
    manager.stop()
    assert running.exit_code() == 0
    assert slow.timeout_seconds == 5


@pytest.mark.parametrize("group", list(RunnableGroup), ids=lambda group: group.name)
def test_mg4_what_hangs_leaves_time_to_give_the_lease_back(clock, journal, group):
    """A service that writes leaves none: the lease is kept while it does. Services that
    stop later take none of that time.
    """
    elector = HandElector(journal)
    manager = Manager(clock=clock, elector=elector, grace_seconds=16)
    slow = Recorded("slow", journal)
    slow.on_stop = lambda: clock.advance(manager._remaining())
    manager.add(slow, group=group)
    running = Running(manager)
    elector.ready.wait(10)
    elector.elected()
    journal.wait_for("start slow")
    manager.stop()
    assert running.exit_code() == 0
    before = dict.fromkeys((RunnableGroup.OTHERS, RunnableGroup.RECORDERS), (15, 1))
    expected = {**before, RunnableGroup.LEADER: (16, 0)}.get(group, (16, 16))
    assert (slow.timeout_seconds, elector.timeout_seconds) == expected


class Drained(Recorded):
    def drain(self):
        self.journal.note(f"drain {self.name}")


def drained(clock, journal, **options):
    """A manager that leads, with webhooks; the journal has all events."""
    elector = HandElector(journal)
    manager = Manager(clock=clock, elector=elector, drain_seconds=5, **options)
    for group in RunnableGroup:
        kind = Drained if group is RunnableGroup.WEBHOOKS else Recorded
        manager.add(kind(group.name.lower(), journal), group=group)
    running = Running(manager)
    elector.ready.wait(10)
    elector.elected()
    journal.wait_for("start leader")
    journal.lines.clear()
    return manager, elector, running


def test_mg4_webhooks_are_answered_until_services_have_followed(clock, journal):
    """And the lease is given back as soon as nothing writes any more."""
    manager, _, running = drained(clock, journal)
    manager.stop()
    journal.wait_for("released")
    clock.until_waiting()
    assert journal.lines == [
        "drain webhooks",
        *("stop others", "stop leader", "stop recorders"),
        "released",
    ]
    clock.advance(4.9)
    assert running.thread.is_alive()
    clock.until_waiting()
    clock.advance(0.2)
    assert running.exit_code() == 0
    assert journal.lines[5:] == ["stop caches", "stop webhooks", "stop servers"]


def test_mg4_draining_takes_no_more_time_than_the_stop_has(clock, journal):
    manager, _, running = drained(clock, journal, grace_seconds=2)
    manager.stop()
    journal.wait_for("released")
    clock.until_waiting()
    clock.advance(2)
    assert running.exit_code() == 0


def test_mg5_a_lost_lease_ends_the_draining(clock, journal):
    _, elector, running = drained(clock, journal)
    elector.lost()
    assert running.exit_code() == 1
    assert journal.lines[-1] == "stop servers"


def test_mg4_a_service_that_hangs_is_reported_and_the_others_stop(journal):
    released = threading.Event()
    manager = Manager(clock=SystemClock(), grace_seconds=0.05)
    hanging = Recorded("hanging", journal, on_stop=lambda: released.wait(10))
    manager.add(hanging)
    manager.add(Recorded("well", journal))
    running = Running(manager)
    journal.wait_for("start well")
    manager.stop()
    assert running.exit_code() == 1
    released.set()
    assert "stop well" in journal.lines
    journal.wait_for("stop hanging")


def test_mg4_a_service_that_fails_to_stop_is_reported(clock, journal):
    def fail():
        raise OSError("stuck")

    manager = Manager(clock=clock)
    manager.add(Recorded("bad", journal, on_stop=fail))
    running = Running(manager)
    journal.wait_for("start bad")
    manager.stop()
    assert running.exit_code() == 1


def test_ct7_leaders_warm_up_before_the_election_and_start_after(clock, journal):
    elector = HandElector(journal)
    manager = Manager(clock=clock, elector=elector)
    manager.add(Warmed("vnet", journal))
    running = Running(manager)
    elector.ready.wait(10)
    assert journal.lines == ["warm vnet", "election"]
    manager.add(Warmed("late", journal))
    assert journal.lines[-1] == "warm late"
    elector.elected()
    journal.wait_for("start late")
    manager.stop()
    assert running.exit_code() == 0
    assert journal.lines[-1] == "released"


def test_mg5_a_lost_lease_leaves_no_time_and_is_a_failure(clock, journal):
    elector = HandElector(journal)
    manager = Manager(clock=clock, elector=elector)
    service = Recorded("vnet", journal)
    manager.add(service)
    running = Running(manager)
    elector.ready.wait(10)
    elector.elected()
    journal.wait_for("start vnet")
    elector.lost()
    assert running.exit_code() == 1
    assert isinstance(manager.failure, LeadershipLostError)
    assert service.timeout_seconds == 0
    assert journal.lines[-1] == "kept the lease"


def test_mg5_a_manager_that_was_never_elected_starts_no_leaders(clock, journal):
    elector = HandElector(journal)
    manager = Manager(clock=clock, elector=elector)
    manager.add(Recorded("vnet", journal))
    running = Running(manager)
    elector.ready.wait(10)
    manager.stop()
    assert running.exit_code() == 0
    elector.elected()
    assert journal.lines == ["election", "released"]


def test_le7_the_lease_is_kept_while_a_leader_still_runs(clock, journal):
    elector = HandElector(journal)
    manager = Manager(clock=clock, elector=elector)
    manager.add(Recorded("vnet", journal, left=["vnet ns/a"]))
    running = Running(manager)
    elector.ready.wait(10)
    elector.elected()
    manager.stop()
    assert running.exit_code() == 1
    assert journal.lines[-1] == "kept the lease"


def test_mg5_a_lease_lost_during_a_stop_ends_it_at_once(journal):
    elector, hanging, remove_finalizer = (
        HandElector(journal),
        threading.Event(),
        threading.Event(),
    )

    def hang():
        hanging.set()
        remove_finalizer.wait(30)  # longer than the run may take

    manager = Manager(clock=SystemClock(), elector=elector, grace_seconds=60)
    manager.add(Recorded("vnet", journal, on_stop=hang))
    running = Running(manager)
    elector.ready.wait(10)
    elector.elected()
    journal.wait_for("start vnet")
    manager.stop()
    assert hanging.wait(10)
    elector.lost()
    assert running.exit_code() == 1
    assert isinstance(manager.failure, LeadershipLostError)
    assert journal.lines[-1] == "kept the lease"
    remove_finalizer.set()
    journal.wait_for("stop vnet")


def test_le7_the_lease_is_kept_while_leaders_are_still_being_started(journal):
    elector, starting, remove_finalizer = (
        HandElector(journal),
        threading.Event(),
        threading.Event(),
    )

    def install():
        starting.set()
        remove_finalizer.wait(10)

    manager = Manager(clock=SystemClock(), elector=elector, grace_seconds=0.05)
    manager.add(RunnableHooks("CRDs", install))
    running = Running(manager)
    elector.ready.wait(10)
    thread = threading.Thread(target=elector.elected)
    thread.start()
    assert starting.wait(10)
    manager.stop()
    assert running.exit_code() == 1
    assert journal.lines[-1] == "kept the lease"
    remove_finalizer.set()
    thread.join(10)


def test_mg1_a_step_is_done_before_what_comes_after_it(clock, journal):
    manager = Manager(clock=clock)
    manager.add(RunnableHooks("first", lambda: journal.note("the step")))
    manager.add(Recorded("second", journal))
    running = Running(manager)
    journal.wait_for("start second")
    manager.stop()
    assert running.exit_code() == 0
    assert journal.lines == ["the step", "start second", "stop second"]


def test_mg3_a_step_that_fails_stops_everything(clock, journal):
    def fail():
        raise OSError("refused")

    manager = Manager(clock=clock)
    manager.add(RunnableHooks("CRDs", fail))
    manager.add(Recorded("never", journal))
    assert manager.run() == 1
    assert isinstance(manager.failure, OSError)
    assert journal.lines == []


def test_mg4_all_stops_on_a_machine_without_threads(clock, journal, monkeypatch):
    manager = Manager(clock=clock)
    for name in ("one", "other"):
        manager.add(Recorded(name, journal))
    running = Running(manager)
    journal.wait_for("start other")

    def refused(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    manager.stop()
    assert running.exit_code() == 0
    assert {"stop one", "stop other"} <= set(journal.lines)
