"""What handlers hear and when: order, initial marks, late comers, threads of their own."""

import threading

import pytest
from heard import Heard
from scriptedapi import QUIET, Page, Script, config_map, initial_end

from asoreconcile.base.errors import StoppedError
from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.informer import Informer
from asoreconcile.cache.initial_list import InitialList, StreamingSupport
from asoreconcile.cache.scope import Scope
from asoreconcile.kube.errors import ExpiredError
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.testing.clock import FakeClock

EXPIRED = ExpiredError("too old", status=410)


@pytest.fixture
def informer_of():
    """Make an informer over a script, not started; stopped after the test."""
    made = []

    def make(*steps, **options):
        script = Script(*steps)
        informer = Informer(
            script,
            CONFIG_MAPS,
            clock=FakeClock(),
            uniform=lambda low, _high: low,
            streaming=StreamingSupport(expected=not isinstance(steps[0], Page)),
            **options,
        )
        made.append(informer)
        return informer, script

    yield make
    for informer in made:
        assert informer.stop(10) == []


def dry(script):
    assert script.dry.wait(10)


def test_in1_replacement_is_one_step_then_deletions_then_the_rest(informer_of):
    informer, script = informer_of(
        Page([config_map("a", 1), config_map("b", 1)], "1"),
        EXPIRED,
        Page([config_map("d", 4), config_map("b", 4), config_map("c", 4)], "4"),
    )
    told = []

    def handler(event):
        told.append((type(event).__name__, event.key.name, informer.keys(None)))

    informer.add_handler(handler)
    informer.start()
    dry(script)
    after = [ObjectKey("n", name) for name in ("b", "c", "d")]
    assert told[2:] == [
        ("Deleted", "a", after),
        ("Added", "d", after),
        ("Updated", "b", after),
        ("Added", "c", after),
    ]


def test_in1_events_of_all_objects_keep_the_order_of_the_stream(informer_of):
    informer, script = informer_of(
        [
            initial_end(1),
            ("ADDED", config_map("b", 2)),
            ("ADDED", config_map("a", 3)),
            ("MODIFIED", config_map("b", 4)),
            ("MODIFIED", config_map("b", 5)),
            ("DELETED", config_map("a", 6)),
        ]
    )
    heard = Heard(informer)
    informer.start()
    dry(script)
    assert heard.shown() == [
        "Added b",
        "Added a",
        "Updated b",
        "Updated b",
        "Deleted a",
    ]


def test_in2_stream_waits_for_a_slow_handler(informer_of):
    """No queue of ours grows between the connection and the store."""
    taken = []

    class Events(list):
        def __iter__(self):
            yield initial_end(1)
            for number in range(2, 5):
                taken.append(number)
                yield ("ADDED", config_map(f"a{number}", number))

    informer, script = informer_of(Events())
    entered, go = threading.Event(), threading.Event()

    def handler(_event):
        entered.set()
        assert go.wait(10)

    informer.add_handler(handler)
    informer.start()
    assert entered.wait(10)
    assert taken == [2]
    go.set()
    dry(script)
    assert taken == [2, 3, 4]


def test_in3_what_is_known_decides_not_what_the_event_is_called(informer_of):
    informer, script = informer_of(
        [
            ("ADDED", config_map("a", 1)),
            initial_end(1),
            ("ADDED", config_map("a", 2)),
            ("MODIFIED", config_map("b", 3)),
            ("DELETED", config_map("c", 4)),
        ]
    )
    heard = Heard(informer)
    informer.start()
    dry(script)
    assert heard.shown() == ["Added a", "Updated a", "Added b"]
    assert heard.events[1].old.resource_version == "1"


def test_in6_handlers_are_called_one_after_another_in_the_order_of_the_stream(
    informer_of,
):
    informer, script = informer_of(
        [
            ("ADDED", config_map("a", 1)),
            initial_end(1),
            ("MODIFIED", config_map("a", 2)),
            ("DELETED", config_map("a", 3)),
        ]
    )
    called = []
    for name in ("first", "second"):
        informer.add_handler(
            lambda event, name=name: called.append((name, type(event).__name__))
        )
    informer.start()
    dry(script)
    assert called == [
        (name, event)
        for event in ("Added", "Updated", "Deleted")
        for name in ("first", "second")
    ]


def test_in7_who_is_removed_by_another_in_an_event_does_not_get_it(informer_of):
    informer, script = informer_of([("ADDED", config_map("a", 1)), initial_end(1)])
    informer.add_handler(lambda _event: second.registration.remove())
    second = Heard(informer)
    informer.start()
    dry(script)
    assert second.events == []


def test_in7_removed_handler_hears_no_more_and_removal_may_repeat(informer_of):
    informer, script = informer_of([("ADDED", config_map("a", 1)), initial_end(1)])
    first, second = Heard(informer), Heard(informer)
    second.registration.remove()
    second.registration.remove()
    informer.start()
    dry(script)
    assert first.shown() == ["Added a"]
    assert second.events == []


def test_in7_handler_may_add_another_one(informer_of, caplog):
    informer, script = informer_of(
        [("ADDED", config_map("a", 1)), ("ADDED", config_map("b", 2)), initial_end(2)]
    )
    late = Heard()

    def handler(event):
        if event.key.name == "a":
            informer.add_handler(late)

    informer.add_handler(handler)
    informer.start()
    dry(script)
    # What is there when it comes, and each of it once more at the most.
    assert {"Added a", "Added b"} <= set(late.shown())
    assert caplog.messages == []


def test_in8_shortest_resync_is_a_second(informer_of):
    informer, _ = informer_of([initial_end(1), QUIET])
    assert informer.add_handler(print, resync_seconds=0.01).resync_seconds == 1.0
    assert informer.add_handler(print).resync_seconds == 0.0


def test_in8_removed_handler_has_no_resync(informer_of):
    informer, script = informer_of(
        [("ADDED", config_map("a", 1)), initial_end(1), QUIET]
    )
    heard = Heard(informer, resync_seconds=5.0)
    informer.start()
    assert script.quiet.wait(10)
    heard.registration.remove()
    clock = informer._clock
    soon = clock.monotonic() + 5.0
    assert all(timer.cancelled or at > soon for at, _, timer in clock._timers)


def test_in8_a_resync_that_finds_no_thread_comes_the_next_time(
    informer_of, monkeypatch
):
    informer, script = informer_of(
        [("ADDED", config_map("a", 1)), initial_end(1), QUIET]
    )
    heard = Heard(informer, resync_seconds=5.0)
    informer.start()
    assert script.quiet.wait(10)
    start = threading.Thread.start

    def refused(thread):
        if thread.name == "resync":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refused)
    informer._clock.advance(5)
    assert heard.shown() == ["Added a"]
    monkeypatch.undo()
    informer._clock.advance(5)
    heard.until(lambda events: len(events) == 2)
    assert heard.shown() == ["Added a", "Updated a"]


def test_in11_namespace_is_always_an_index(informer_of):
    informer, script = informer_of(
        [
            ("ADDED", config_map("a", 1)),
            ("ADDED", config_map("b", 1, namespace="m")),
            initial_end(1),
        ]
    )
    informer.start()
    dry(script)
    assert informer.by_index("namespace", "m") == [ObjectKey("m", "b")]
    assert informer.list(index=("namespace", "n"))[0]["metadata"]["name"] == "a"


def test_in11_version_of_the_cache_can_be_read(informer_of):
    informer, script = informer_of([initial_end(4), ("ADDED", config_map("a", 6))])
    assert informer.synced_version == ""
    informer.start()
    dry(script)
    assert informer.synced_version == "6"


def test_th4_store_of_one_namespace_leaves_the_others_alone(informer_of):
    """Two feeds write one store: each replaces what it covers."""
    informer, _ = informer_of(Page([], "1"), scope=Scope(["n", "m"]))
    first, second = informer._feeds
    first.apply("ADDED", config_map("a", 1))
    second.apply("ADDED", config_map("b", 2, namespace="m"))
    first.replace(InitialList([], "3"))
    assert informer.keys(None) == [ObjectKey("m", "b")]


def test_th5_headers_answer_without_decoding(informer_of, monkeypatch):
    informer, script = informer_of([("ADDED", config_map("a", 7)), initial_end(7)])
    informer.start()
    dry(script)
    entry = informer.entry(ObjectKey("n", "a"))
    monkeypatch.setattr("asoreconcile.cache.entry.orjson", None)
    assert (entry.resource_version, entry.uid) == ("7", "uid-a")
    assert (entry.generation, entry.deleting, dict(entry.labels)) == (0, False, {})


def test_in7_stopped_informer_refuses_handlers(informer_of):
    informer, _ = informer_of([initial_end(1)])
    assert informer.stop(10) == []
    with pytest.raises(StoppedError):
        informer.add_handler(print)
