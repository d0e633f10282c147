"""Informers over a scripted API: what handlers hear, what readers see, what is asked."""

import threading

import pytest
from recordedthreads import ScarceThreads
from scriptedapi import Page, Script, bookmark, config_map, initial_end

from asoreconcile.base.errors import StoppedError
from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.events import Added, Deleted, Updated
from asoreconcile.cache.informer import Informer
from asoreconcile.cache.initial_list import StreamingSupport
from asoreconcile.cache.scope import Scope
from asoreconcile.kube.errors import (
    ExpiredError,
    NotFoundError,
    TooManyRequestsError,
    TransportError,
)
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.testing.clock import FakeClock


@pytest.fixture
def run():
    """Run an informer over a script until the script is dry; yields what it heard."""
    started = []

    def start(*steps, handlers=(), clock=None):
        clock = clock or FakeClock()
        script = Script(*steps)
        informer = Informer(
            script,
            CONFIG_MAPS,
            clock=clock,
            uniform=lambda low, _high: low,
            streaming=StreamingSupport(expected=False),
        )
        heard = []
        informer.add_handler(heard.append)
        for handler in handlers:
            informer.add_handler(handler)
        started.append(informer)
        informer.start()
        while not script.dry.wait(0.002):
            clock.advance(1.0)
        return informer, script, heard

    yield start
    for informer in started:
        assert informer.stop(5) == []


def take(informer, type_, obj):
    """An event, as the watch brings it."""
    informer._feeds[0].apply(type_, obj)


def shown(events):
    return [(type(e).__name__, e.key.name) for e in events]


def test_rf2_first_list_is_at_zero_in_pages(run):
    _, script, heard = run(
        Page([config_map("a", 1)], "5", "more"), Page([config_map("b", 2)], "5")
    )
    lists = [options for name, options in script.calls if name == "list"]
    assert [o["resource_version"] for o in lists] == ["0", None]
    assert [o["continue_token"] for o in lists] == ["", "more"]
    assert {o["limit"] for o in lists} == {500}
    assert shown(heard) == [("Added", "a"), ("Added", "b")]


def test_in5_events_of_the_first_list_are_marked(run):
    informer, _, heard = run(
        Page([config_map("a", 1)], "1"), [("ADDED", config_map("b", 2))]
    )
    assert [(e.key.name, e.initial) for e in heard] == [("a", True), ("b", False)]
    assert informer.has_synced()


def test_rf5_watch_goes_on_from_the_list_with_bookmarks(run):
    _, script, _ = run(Page([], "7"))
    name, options = script.calls[-1]
    assert name == "watch"
    assert options["resource_version"] == "7"
    assert options["timeout_seconds"] == 300.0


def test_rf6_rf10_normal_close_resumes_from_the_last_event(run):
    _, script, _ = run(Page([], "1"), [("ADDED", config_map("a", 3)), bookmark(9)])
    assert [name for name, _ in script.calls] == ["list", "watch", "watch"]
    assert script.calls[-1][1]["resource_version"] == "9"


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param(ExpiredError("old", status=410), id="RF-7-refused-410"),
        pytest.param(
            [("ERROR", {"code": 410, "reason": "Expired"})], id="RF-9-error-event-410"
        ),
    ],
)
def test_expired_version_lists_anew_at_once_and_emits_the_difference(
    run, ending, clock
):
    _, script, heard = run(
        Page([config_map("a", 1), config_map("b", 1)], "1"),
        ending,
        Page([config_map("a", 4), config_map("c", 4)], "4"),
        clock=clock,
    )
    assert [n for n, _ in script.calls] == ["list", "watch", "list", "watch"]
    assert script.calls[2][1]["resource_version"] == ""
    assert shown(heard[2:]) == [("Deleted", "b"), ("Updated", "a"), ("Added", "c")]
    assert heard[2].observed is False


def test_rf7_refusal_429_backs_off_and_watches_on_without_a_list(run, clock):
    error = TooManyRequestsError("busy", status=429, retry_after_seconds=20.0)
    _, script, _ = run(Page([], "1"), error, clock=clock)
    assert [n for n, _ in script.calls] == ["list", "watch", "watch"]
    assert clock.monotonic() >= 20.0


def test_rf13_broken_connection_watches_on_from_where_it_was(run):
    _, script, heard = run(
        Page([], "1"),
        [("ADDED", config_map("a", 5)), TransportError("reset")],
    )
    assert [n for n, _ in script.calls] == ["list", "watch", "watch"]
    assert script.calls[-1][1]["resource_version"] == "5"
    assert shown(heard) == [("Added", "a")]


def test_rf8_very_short_watch_lists_again(run):
    _, script, _ = run(Page([], "1"), [], Page([], "2"))
    assert [n for n, _ in script.calls] == ["list", "watch", "list", "watch"]


def test_rf1_missing_kind_is_retried_until_it_heals(run):
    missing = NotFoundError("no such resource", status=404)
    informer, script, _ = run(missing, missing, Page([config_map("a", 1)], "1"))
    assert informer.has_synced()
    assert informer.last_error == ""
    assert [n for n, _ in script.calls] == ["list", "list", "list", "watch"]


def test_in4_recreated_in_a_gap_is_a_deletion_and_an_addition(run):
    _, _, heard = run(
        Page([config_map("a", 1, uid="old")], "1"),
        ExpiredError("old", status=410),
        Page([config_map("a", 4, uid="new")], "4"),
    )
    assert shown(heard[1:]) == [("Deleted", "a"), ("Added", "a")]
    assert heard[1].entry.uid == "old"
    assert heard[2].entry.uid == "new"


def test_observed_deletion_carries_the_final_state(run):
    informer, _, heard = run(
        Page([config_map("a", 1)], "1"), [("DELETED", config_map("a", 6))]
    )
    assert isinstance(heard[-1], Deleted)
    assert heard[-1].observed
    assert heard[-1].entry.resource_version == "6"
    assert informer.get(ObjectKey("n", "a")) is None


def test_in7_late_handler_hears_what_is_there(run):
    informer, _, _ = run(Page([config_map("a", 1)], "1"))
    heard = []
    registration = informer.add_handler(heard.append)
    assert [(type(e), e.initial) for e in heard] == [(Added, True)]
    assert registration.has_synced()


def test_in9_failing_handler_does_not_stop_others(run):
    def broken(_event):
        raise ValueError("broken on purpose")

    _, _, heard = run(
        Page([config_map("a", 1)], "1"),
        [("MODIFIED", config_map("a", 2))],
        handlers=[broken],
    )
    assert [type(e) for e in heard] == [Added, Updated]


def test_in10_noise_is_stripped_before_storing(run):
    informer, _, _ = run(Page([config_map("a", 1, key="v")], "1"))
    stored = informer.get(ObjectKey("n", "a"))
    assert "managedFields" not in stored["metadata"]
    assert stored["metadata"]["annotations"] == {}
    assert stored["data"] == {"key": "v"}


def test_in12_readers_get_private_copies(run):
    informer, _, _ = run(Page([config_map("a", 1, key="v")], "1"))
    informer.get(ObjectKey("n", "a"))["data"]["key"] = "changed"
    assert informer.get(ObjectKey("n", "a"))["data"]["key"] == "v"


def test_in11_indexes_follow_changes(run):
    informer, _, _ = run(
        Page([config_map("a", 1), config_map("b", 1, namespace="m")], "1")
    )
    assert informer.by_index("namespace", "m") == [ObjectKey("m", "b")]
    informer.add_index("uid", lambda entry: (entry.uid,))
    assert informer.by_index("uid", "uid-a") == [ObjectKey("n", "a")]
    assert informer.keys() == [ObjectKey("m", "b"), ObjectKey("n", "a")]


def test_d21_reads_are_not_older_than_own_writes(run):
    informer, _, _ = run(Page([config_map("a", 5, v="old")], "5"))
    key = ObjectKey("n", "a")
    informer.record_write(config_map("a", 7, v="mine"))
    assert informer.get(key)["data"] == {"v": "mine"}
    take(informer, "MODIFIED", config_map("a", 6, v="between"))
    assert informer.get(key)["data"] == {"v": "mine"}
    take(informer, "MODIFIED", config_map("a", 8, v="theirs"))
    assert informer.get(key)["data"] == {"v": "theirs"}


def test_d21_an_answer_that_the_watch_has_passed_is_not_looked_at(run, caplog):
    caplog.set_level("INFO")
    informer, _, _ = run(Page([], "5"))
    unreadable = {**config_map("a", 5), "kind": "Secret"}
    informer.record_write(unreadable)
    assert "Not keeping" not in caplog.text
    unreadable["metadata"]["resourceVersion"] = "6"
    informer.record_write(unreadable)
    assert "Not keeping" in caplog.text


def test_d21_recording_a_write_leaves_the_answer_as_it_was(run):
    informer, _, _ = run(Page([], "5"))
    answer = config_map("a", 7)
    informer.record_write(answer)
    assert answer == config_map("a", 7)


def test_in7_a_handler_of_an_informer_that_stops_meanwhile_is_removed(run):
    informer, _, _ = run(Page([config_map("a", 5)], "5"))
    registration = informer.add_handler(lambda _: informer.ask_to_stop())
    assert not registration.active
    with pytest.raises(StoppedError):
        informer.add_handler(print)


class EachNamespace:
    """A source with a script for each namespace."""

    def __init__(self, **scripts):
        self.scripts = scripts

    def in_steps(self, _threads):
        return self

    def close(self):
        """Do nothing, because there is no connection."""

    def listing(self, what, place, **options):
        return self.scripts[what.namespace].listing(what, place, **options)

    def watch(self, what, **options):
        return self.scripts[what.namespace].watch(what, **options)


def test_in11_of_several_watches_the_one_that_is_behind_counts(clock):
    source = EachNamespace(a=Script([initial_end(12)]), b=Script([initial_end(7)]))
    informer = Informer(source, CONFIG_MAPS, Scope(["a", "b"]), clock=clock)
    informer.start()
    try:
        for script in source.scripts.values():
            assert script.dry.wait(10)
        assert informer.synced_version == "7"
        clock.advance(30.0)
        take(informer, "ADDED", config_map("one", 13, namespace="a"))
        informer._feeds[0].reflector._active()
        assert informer.seconds_since_activity() == 30.0
    finally:
        assert informer.stop(5) == []


def test_d21_deletion_ends_the_memory_of_own_writes(run):
    informer, _, _ = run(Page([config_map("a", 5)], "5"))
    informer.record_write(config_map("a", 7))
    take(informer, "DELETED", config_map("a", 9))
    assert informer.get(ObjectKey("n", "a")) is None


def test_d21_answer_after_the_deletion_was_seen_is_not_kept(run):
    informer, _, _ = run(Page([config_map("a", 5)], "5"))
    take(informer, "DELETED", config_map("a", 9))
    informer.record_write(config_map("a", 8))
    assert informer.get(ObjectKey("n", "a")) is None


def test_stop_wakes_a_quiet_watch(run):
    informer, _, _ = run(Page([], "1"))
    assert informer.stop(5) == []


def test_an_informer_for_which_there_was_no_thread_begins_when_there_is_one(clock):
    threads = ScarceThreads(clock)
    script = Script(Page([config_map("a", 1)], "1"))
    support = StreamingSupport(expected=False)
    informer = Informer(
        script, CONFIG_MAPS, clock=clock, threads=threads, streaming=support
    )
    informer.start()
    clock.advance(1.0)
    assert script.dry.wait(20)
    assert informer.has_synced()
    assert informer.stop(5) == []


def test_an_informer_that_two_threads_start_reads_once():
    class Runner:
        source = None

        def __init__(self):
            self.started = []
            self.entered, self.released = threading.Event(), threading.Event()

        def start(self, name, _reflector):
            self.started.append(name)
            self.entered.set()
            assert self.released.wait(20)
            return self

    runner = Runner()
    informer = Informer(None, CONFIG_MAPS, clock=FakeClock(), runner=runner)
    first, second = (threading.Thread(target=informer.start) for _ in range(2))
    first.start()
    assert runner.entered.wait(20)
    second.start()
    runner.released.set()
    for thread in (first, second):
        thread.join(20)
    informer.start()
    assert runner.started == ["watch configmaps"]


def test_no_namespace_is_all_of_them(run):
    informer, *_ = run(Page([config_map("a", 1)], "2"))
    assert informer.keys("") == informer.keys(None) == informer.keys("n") != []
    assert informer.list("") == informer.list()
