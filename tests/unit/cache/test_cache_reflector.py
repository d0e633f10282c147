"""What an informer asks of an API server, and how it takes what comes, by script."""

import asyncio
import logging
import threading

import pytest
from scriptedapi import QUIET, Page, Script, bookmark, config_map, initial_end
from watchthread import WatchThread

from asoreconcile.base.objects import ObjectKey, gvk_of, resource_version, uid_of
from asoreconcile.cache.informer import Informer
from asoreconcile.cache.initial_list import StreamingSupport
from asoreconcile.cache.scope import Scope
from asoreconcile.cache.unreadable import unreported
from asoreconcile.kube.errors import (
    ApiError,
    DecodeError,
    ExpiredError,
    ForbiddenError,
    NotFoundError,
    TooManyRequestsError,
    TransportError,
)
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.testing.clock import FakeClock

EXPIRED = ExpiredError("too old", status=410)
FUTURE = ApiError(
    "Too large resource version",
    status=504,
    details={"causes": [{"reason": "ResourceVersionTooLarge"}]},
)


class PausingClock(FakeClock):
    """Pauses take no real time, and are remembered."""

    def __init__(self):
        super().__init__()
        self.pauses = []

    def wait(self, event, timeout_seconds):
        self.pauses.append(timeout_seconds)
        self.advance(timeout_seconds)
        return event.is_set()


@pytest.fixture
def run():
    """Run an informer over a script until it is dry: (informer, script, heard)."""
    started = []

    def start(
        *steps,
        streaming=True,
        clock=None,
        uniform=None,
        transform=None,
        report=unreported,
    ):
        clock = clock or PausingClock()
        script = Script(*steps)
        support = StreamingSupport(expected=streaming)
        informer = Informer(
            script,
            CONFIG_MAPS,
            Scope(transform=transform),
            clock=clock,
            uniform=uniform or (lambda low, _high: low),
            streaming=support,
            report=report,
            runner=WatchThread(script, clock),
        )
        script.support = support  # type: ignore[attr-defined]
        heard = []
        informer.add_handler(heard.append)
        started.append(informer)
        informer.start()
        return informer, script, heard

    yield start
    for informer in started:
        assert informer.stop(10) == []


def asked(script):
    """The requests, as (verb, version): a streamed state is a verb of its own."""
    return [
        (
            "stream" if options.get("initial_events") else verb,
            options.get("resource_version"),
        )
        for verb, options in script.calls
    ]


def shown(events):
    return [f"{type(e).__name__} {e.key.name}" for e in events]


def dry(script):
    assert script.dry.wait(10), (script.calls, script.steps)


def test_rf11_state_and_watch_are_one_stream(run):
    informer, script, heard = run(
        [
            ("ADDED", config_map("a", 3)),
            ("ADDED", config_map("b", 2)),
            initial_end(5),
            ("MODIFIED", config_map("a", 6)),
        ]
    )
    dry(script)
    assert asked(script) == [("stream", ""), ("watch", "6")]
    assert shown(heard) == ["Added a", "Added b", "Updated a"]
    assert [e.initial for e in heard[:2]] == [True, True]
    assert informer.has_synced()


def test_rf11_nothing_is_told_before_the_state_is_complete(run):
    informer, script, heard = run([("ADDED", config_map("a", 3)), QUIET])
    assert script.quiet.wait(10)
    assert heard == []
    assert not informer.has_synced()
    assert informer.get(ObjectKey("n", "a")) is None


def test_rf11_only_the_bookmark_that_says_so_ends_the_state(run):
    _, script, heard = run([bookmark(2), ("ADDED", config_map("a", 3)), initial_end(5)])
    dry(script)
    assert [(type(e).__name__, e.initial) for e in heard] == [("Added", True)]
    assert asked(script)[-1] == ("watch", "5")


def test_rf11_an_error_in_the_state_is_the_error_it_says(run):
    clock = PausingClock()
    expired = {"kind": "Status", "code": 410, "reason": "Expired", "message": "old"}
    _, script, _ = run(
        [("ADDED", config_map("a", 1)), ("ERROR", expired)],
        [initial_end(4)],
        clock=clock,
    )
    dry(script)
    assert asked(script) == [("stream", ""), ("stream", ""), ("watch", "4")]
    assert clock.pauses == []


class InTime:
    """Events whose moments the test chooses: an Event among them is waited for."""

    def __init__(self, *events):
        self._events = events
        self.reached = threading.Semaphore(0)

    def __iter__(self):
        for event in self._events:
            if isinstance(event, threading.Event):
                self.reached.release()
                assert event.wait(10)
            else:
                yield event

    def wait(self):
        assert self.reached.acquire(timeout=10)


def test_rf11_a_long_state_is_no_silence(run):
    clock, moments = FakeClock(), [threading.Event() for _ in range(3)]
    events = InTime(
        moments[0],
        ("ADDED", config_map("a", 1)),
        moments[1],
        ("ADDED", config_map("b", 2)),
        moments[2],
        initial_end(3),
    )
    _, script, heard = run(events, clock=clock)
    for moment in moments:
        events.wait()
        clock.advance(29.0)
        moment.set()
    dry(script)
    assert asked(script) == [("stream", ""), ("watch", "3")]
    assert shown(heard) == ["Added a", "Added b"]
    assert script.support.expected


def test_rf11_what_is_deleted_in_the_state_is_not_in_it(run):
    _, script, heard = run(
        [
            ("ADDED", config_map("a", 1)),
            ("ADDED", config_map("b", 2)),
            ("MODIFIED", config_map("b", 3)),
            ("DELETED", config_map("a", 4)),
            initial_end(4),
        ]
    )
    dry(script)
    assert shown(heard) == ["Added b"]
    assert heard[0].entry.resource_version == "3"


@pytest.mark.parametrize("status", [400, 422])
def test_rf11_server_without_streams_is_listed_from_then_on(run, status):
    refusal = ApiError("sendInitialEvents is forbidden", status=status)
    _, script, heard = run(
        refusal, Page([config_map("a", 1)], "1"), EXPIRED, Page([], "2")
    )
    dry(script)
    assert [verb for verb, _ in asked(script)] == [
        "stream",
        "list",
        "watch",
        "list",
        "watch",
    ]
    assert script.support.expected, "for other kinds"
    assert shown(heard) == ["Added a", "Deleted a"]


def test_rf11_silence_about_one_kind_stops_no_stream_of_others(run, clock):
    _, script, _ = run(
        [("ADDED", config_map("a", 1)), QUIET], Page([], "2"), clock=clock
    )
    script.support.proven()  # by another kind of the server
    assert script.quiet.wait(10)
    clock.advance(30.0)
    dry(script)
    assert asked(script)[1:] == [("list", "0"), ("watch", "2")]
    assert script.support.expected


def test_rf11_other_refusals_of_a_stream_are_listed_this_once(run):
    _, script, _ = run(
        ForbiddenError("no watch for you", status=403),
        Page([], "1"),
        EXPIRED,
        [initial_end(2)],
    )
    dry(script)
    verbs = [verb for verb, _ in asked(script)]
    assert verbs[:4] == ["stream", "list", "watch", "stream"]
    assert script.support.expected


def test_rf11_stream_without_an_end_is_given_up_after_its_deadline(run, clock):
    _, script, heard = run(
        [("ADDED", config_map("a", 1)), QUIET],
        Page([config_map("b", 2)], "2"),
        clock=clock,
    )
    assert script.quiet.wait(10)
    clock.advance(29.0)
    assert [verb for verb, _ in asked(script)] == ["stream"]
    clock.advance(1.0)
    dry(script)
    assert asked(script)[1:] == [("list", "0"), ("watch", "2")]
    assert shown(heard) == ["Added b"]
    assert not script.support.expected


def test_rf11_broken_stream_of_the_state_begins_anew(run):
    clock = PausingClock()
    _, script, heard = run(
        [("ADDED", config_map("a", 1)), TransportError("reset")],
        [("ADDED", config_map("b", 2)), initial_end(2)],
        clock=clock,
    )
    dry(script)
    assert [verb for verb, _ in asked(script)] == ["stream", "stream", "watch"]
    assert shown(heard) == ["Added b"]
    assert clock.pauses == [0.8]


def test_rf11_later_states_are_no_older_than_the_last(run):
    _, script, heard = run(
        [("ADDED", config_map("a", 3)), initial_end(7)],
        DecodeError("half an event"),
        [("ADDED", config_map("a", 3)), initial_end(8)],
    )
    dry(script)
    assert asked(script) == [
        ("stream", ""),
        ("watch", "7"),
        ("stream", "7"),
        ("watch", "8"),
    ]
    assert shown(heard) == ["Added a"]


@pytest.mark.parametrize(
    "error",
    [pytest.param(EXPIRED, id="RF-2-410"), pytest.param(FUTURE, id="RF-2-future")],
)
@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "listed"])
def test_unknown_version_is_asked_anew_at_once_and_newest(run, error, streaming):
    def state(version):
        if streaming:
            return [initial_end(version)]
        return Page([], str(version))

    clock = PausingClock()
    _, script, _ = run(
        state(5), error, error, state(9), clock=clock, streaming=streaming
    )
    dry(script)
    first = {True: ("stream", ""), False: ("list", "0")}[streaming]
    verb = first[0]
    # The second refusal is of the newest version: that is a pause's turn.
    assert asked(script)[:4] == [first, ("watch", "5"), (verb, ""), (verb, "")]
    assert len(clock.pauses) == 1
    assert asked(script)[4:] == [("watch", "9")]


def test_rf2_success_ends_the_demand_for_the_newest(run):
    _, script, _ = run(
        Page([], "5"),
        EXPIRED,
        Page([], "9"),
        DecodeError("half an event"),
        Page([], "9"),
        streaming=False,
    )
    dry(script)
    lists = [version for verb, version in asked(script) if verb == "list"]
    assert lists == ["0", "", "9"]


def test_rf3_pages_are_of_500_and_end_with_the_last(run):
    _, script, heard = run(
        Page([config_map("a", 1)], "5", "t1"),
        Page([config_map("b", 2)], "5", "t2"),
        Page([config_map("c", 3)], "5"),
        streaming=False,
    )
    dry(script)
    lists = [options for verb, options in script.calls if verb == "list"]
    assert [options["limit"] for options in lists] == [500] * 3
    assert [options["continue_token"] for options in lists] == ["", "t1", "t2"]
    assert shown(heard) == ["Added a", "Added b", "Added c"]


def test_rf3_expired_continue_token_lists_all_at_once(run):
    _, script, heard = run(
        Page([config_map("a", 1)], "5", "t1"),
        EXPIRED,
        Page([config_map("b", 2)], "7"),
        streaming=False,
    )
    dry(script)
    last = [options for verb, options in script.calls if verb == "list"][-1]
    assert last["limit"] is None
    assert not last["continue_token"]
    assert shown(heard) == ["Added b"]
    assert asked(script)[-1] == ("watch", "7")


def test_rf4_version_counts_once_the_store_is_replaced(run):
    seen = []
    informer, script, _ = run(
        Page([config_map("a", 1)], "5"), EXPIRED, Page([], "9"), streaming=False
    )
    informer.add_handler(lambda _e: seen.append(informer.synced_version))
    dry(script)
    assert informer.synced_version == "9"
    assert "9" not in seen


def test_rf4_stop_cuts_a_list_short(run):
    """A list may be long: its reader is woken, and half a list is no state."""
    closed = threading.Event()

    class Endless(Page):
        def polled(self):
            yield config_map("a", 1)
            started.set()
            assert closed.wait(10)
            raise DecodeError("cut short")

        def close(self):
            closed.set()

    started = threading.Event()
    informer, _, heard = run(Endless([], "5"), streaming=False)
    assert started.wait(10)
    assert informer.stop(10) == []
    assert closed.is_set()
    assert heard == []


def test_rf5_watches_last_five_to_ten_minutes(run):
    ranges = []

    def uniform(low, high):
        ranges.append((low, high))
        return high

    _, script, _ = run([initial_end(1)], uniform=uniform)
    dry(script)
    assert set(ranges) == {(300.0, 600.0)}
    assert {o["timeout_seconds"] for _, o in script.calls} == {600.0}


def test_rf1_pauses_double_to_thirty_seconds_with_jitter_and_reset(run):
    clock = PausingClock()
    missing = NotFoundError("no such kind", status=404)
    _, script, _ = run(
        *[missing] * 8,
        [initial_end(1), ("ADDED", config_map("a", 2))],
        clock=clock,
        uniform=lambda _low, high: high,
    )
    dry(script)
    assert clock.pauses == [1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 60.0, 60.0]


def test_rf1_two_calm_minutes_end_the_memory_of_failures(run):
    clock = PausingClock()
    busy = TooManyRequestsError("busy", status=429)

    def calm():
        clock.advance(121.0)
        return ("MODIFIED", config_map("a", 5))

    class Calm(list):
        def __iter__(self):
            yield initial_end(1)
            yield calm()

    _, script, _ = run(busy, busy, Calm(), busy, clock=clock)
    dry(script)
    assert clock.pauses == [0.8, 1.6, 0.8]


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(
            TooManyRequestsError("busy", status=429, retry_after_seconds=9.0),
            id="RF-7-opening",
        ),
        pytest.param(
            [("ERROR", {"code": 429, "details": {"retryAfterSeconds": 9}})],
            id="RF-7-in-the-stream",
        ),
    ],
)
def test_busy_server_is_watched_again_after_what_it_asked_for(run, refusal):
    clock = PausingClock()
    _, script, heard = run(
        [("ADDED", config_map("a", 1)), initial_end(3)], refusal, clock=clock
    )
    dry(script)
    assert asked(script) == [("stream", ""), ("watch", "3"), ("watch", "3")]
    assert clock.pauses == [9.0]
    assert shown(heard) == ["Added a"]


def test_rf7_nobody_there_backs_off_and_watches_on(run):
    clock = PausingClock()
    refused = TransportError("connection refused")
    _, script, _ = run([initial_end(3)], refused, refused, clock=clock)
    dry(script)
    assert asked(script) == [("stream", "")] + [("watch", "3")] * 3
    assert clock.pauses == [0.8, 1.6]


@pytest.mark.parametrize(
    "ending", [[], [TransportError("reset")]], ids=["closed", "broken"]
)
def test_rf8_watch_that_ends_at_once_gets_the_state_anew(run, ending):
    clock = PausingClock()
    _, script, _ = run([initial_end(3)], ending, [initial_end(4)], clock=clock)
    dry(script)
    assert asked(script)[:3] == [("stream", ""), ("watch", "3"), ("stream", "3")]
    assert clock.pauses == [0.8]


@pytest.mark.parametrize(
    ("event", "version"),
    [
        pytest.param(
            ("ADDED", {"kind": "Pod", **config_map("x", 8)}), "8", id="RF-9-kind"
        ),
        pytest.param(
            ("ADDED", {"kind": "Table", "metadata": {"resourceVersion": "8"}}),
            "8",
            id="RF-9-table",
        ),
        pytest.param(("ADDED", {"metadata": {}}), "4", id="RF-9-nameless"),
        pytest.param(("ADDED", {}), "4", id="RF-9-nothing"),
        pytest.param(("PONG", config_map("x", 8)), "8", id="RF-9-type"),
    ],
)
def test_what_is_no_event_of_the_kind_is_skipped_and_moves_the_version(
    run, event, version
):
    _, script, heard = run([initial_end(3), ("ADDED", config_map("a", 4)), event])
    dry(script)
    assert asked(script)[-1] == ("watch", version)
    assert shown(heard) == ["Added a"]


def test_rf9_error_event_is_the_error_it_says(run):
    error = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no more"}
    informer, script, _ = run([initial_end(3), ("ERROR", error), QUIET], [QUIET])
    assert script.quiet.wait(10)
    assert informer.last_error == "ForbiddenError: no more"


def test_rf10_bookmarks_duplicated_or_late_take_nothing_back(run):
    informer, script, _ = run(
        [
            initial_end(3),
            bookmark(7),
            bookmark(7),
            ("ADDED", config_map("a", 9)),
            bookmark(5),
        ]
    )
    dry(script)
    assert asked(script)[-1] == ("watch", "9")
    assert informer.synced_version == "9"


def test_rf2_bookmark_from_before_the_watch_means_the_state_anew(run):
    """As after a restore from a backup: the watch would stay silent for long."""
    clock = PausingClock()
    _, script, heard = run(
        [("ADDED", config_map("a", 9)), initial_end(9)],
        [bookmark(5), ("ADDED", config_map("b", 6))],
        FUTURE,
        [("ADDED", config_map("c", 4)), initial_end(6)],
        clock=clock,
    )
    dry(script)
    assert asked(script) == [
        ("stream", ""),
        ("watch", "9"),
        ("stream", "9"),
        ("stream", ""),
        ("watch", "6"),
    ]
    assert shown(heard) == ["Added a", "Deleted a", "Added c"]
    assert clock.pauses == [0.8]


def test_rf2_bookmark_from_before_the_streamed_state_means_it_anew(run):
    _, script, heard = run(
        [("ADDED", config_map("a", 9)), initial_end(9), bookmark(5)],
        [("ADDED", config_map("a", 9)), initial_end(9)],
    )
    dry(script)
    assert asked(script) == [("stream", ""), ("stream", "9"), ("watch", "9")]
    assert shown(heard) == ["Added a"]


def test_rf2_the_next_state_is_no_older_than_the_last_event(run):
    _, script, _ = run(
        [initial_end(5), ("ADDED", config_map("a", 8)), DecodeError("half")],
        [("ADDED", config_map("a", 8)), initial_end(9)],
    )
    dry(script)
    assert asked(script)[:2] == [("stream", ""), ("stream", "8")]


def test_in11_a_bookmark_says_what_the_cache_is_the_state_of(run):
    informer, script, _ = run([initial_end(3), bookmark(7), QUIET])
    assert script.quiet.wait(10)
    assert informer.synced_version == "7"


@pytest.mark.parametrize(
    "later",
    [
        pytest.param([[initial_end(3), bookmark(7), QUIET]], id="D21-bookmark"),
        pytest.param(
            [[initial_end(3), DecodeError("half")], [initial_end(7), QUIET]],
            id="D21-state",
        ),
    ],
)
def test_own_write_is_forgotten_once_the_watch_has_passed_it(run, later):
    """What was deleted in a gap is not kept alive by an answer from before it."""
    informer, script, _ = run(DecodeError("not yet"), *later)
    informer.record_write(config_map("gone", 6))
    assert script.quiet.wait(10)
    assert informer.get(ObjectKey("n", "gone")) is None
    assert informer.keys() == []


def test_a_broken_watch_is_logged_and_goes_on(run, caplog):
    with caplog.at_level(logging.INFO):
        _, script, _ = run(
            [initial_end(3), ("ADDED", config_map("a", 4)), TransportError("reset")]
        )
        dry(script)
    (record,) = [one for one in caplog.records if one.msg == "Watch failed"]
    assert record.asoreconcile_fields["reason"] == "reset"


def test_a_missing_permission_is_a_warning_once(run, caplog):
    refused = ForbiddenError("no list for you", status=403)
    with caplog.at_level(logging.DEBUG):
        _, script, _ = run(refused, refused, TransportError("reset"), streaming=False)
        dry(script)
    levels = [one.levelname for one in caplog.records if one.msg == "Watch failed"]
    assert levels == ["WARNING", "DEBUG", "INFO"]


def test_rf12_resync_tells_all_again_and_asks_the_server_nothing(run, clock):
    informer, script, _ = run(
        Page([config_map("a", 1)], "3"), [QUIET], streaming=False, clock=clock
    )
    assert script.quiet.wait(10)
    told, again = [], threading.Semaphore(0)

    def handler(event):
        told.append(event)
        again.release()

    informer.add_handler(handler, resync_seconds=60.0)
    assert again.acquire(timeout=10)
    for _ in range(2):
        clock.advance(59.0)
        count = len(told)
        clock.advance(1.0)
        assert again.acquire(timeout=10)
        assert len(told) == count + 1
        until_scheduled(clock)
    assert shown(told) == ["Added a", "Updated a", "Updated a"]
    assert told[1].old is told[1].new
    assert asked(script) == [("list", "0"), ("watch", "3")]


def until_scheduled(clock):
    """Until a resync, which runs on a thread of its own, has set its next time."""
    tick = threading.Event()
    for _ in range(5000):
        if any(not timer.cancelled for _, _, timer in clock._timers):
            return
        tick.wait(0.002)
    raise AssertionError("no resync is scheduled")


def until_quiet(script):
    assert script.quiet.wait(10)
    script.quiet.clear()
    return script.streams[-1].closed


def test_rf13_silence_after_bookmarks_means_nobody_is_there(run, clock):
    _, script, _ = run([initial_end(3), bookmark(4), QUIET], clock=clock)
    closed = until_quiet(script)
    clock.advance(62.0)  # the server's timer, at its latest
    assert not closed.is_set()
    clock.advance(1.0)
    assert closed.is_set()
    dry(script)
    assert asked(script) == [("stream", ""), ("watch", "4")]


def test_rf13_a_watch_is_listened_for_from_its_first_moment(run, clock):
    """Not from its first bookmark on: it may fall silent before, and last 10 minutes."""
    _, script, _ = run(
        [initial_end(3), ("ADDED", config_map("a", 4)), bookmark(5)],
        [QUIET],
        clock=clock,
    )
    closed = until_quiet(script)
    clock.advance(62.0)
    assert not closed.is_set()
    clock.advance(1.0)
    assert closed.is_set()
    dry(script)
    assert asked(script) == [("stream", ""), ("watch", "5"), ("watch", "5")]


def test_rf13_a_server_that_sends_no_bookmarks_any_more_is_believed(run, clock):
    """One that began anew sends none before the kind changes. Asked again for nothing
    once; after that, each watch lasts as long as it was asked for.
    """
    _, script, _ = run([initial_end(3), QUIET], [QUIET], [QUIET], clock=clock)
    closed = until_quiet(script)
    clock.advance(63.0)
    assert closed.is_set()
    closed = until_quiet(script)
    clock.advance(599.0)
    assert not closed.is_set()
    assert asked(script) == [("stream", ""), ("watch", "3")]


def test_rf13_each_event_shows_that_somebody_is_there(run):
    clock, later, last = FakeClock(), threading.Event(), threading.Event()
    events = InTime(
        initial_end(3),
        bookmark(4),
        later,
        ("ADDED", config_map("a", 5)),
        last,
        ("ADDED", config_map("b", 6)),
    )
    _, script, _ = run(events, clock=clock)
    for moment in (later, last):
        events.wait()
        clock.advance(62.0)
        assert not script.streams[-1].closed.is_set()
        moment.set()
    dry(script)
    assert asked(script) == [("stream", ""), ("watch", "6")]
    # Nobody listens for silence on a watch that has ended.
    assert sum(not timer.cancelled for _, _, timer in clock._timers) == 1


def test_rf13_silence_of_a_server_without_bookmarks_means_nothing(run, clock):
    _, script, _ = run(
        Page([], "3"),
        [("ADDED", config_map("a", 4)), QUIET],
        streaming=False,
        clock=clock,
    )
    closed = until_quiet(script)
    clock.advance(599.0)
    assert not closed.is_set()


def test_in10_transform_sees_each_object_once_and_before_handlers(run):
    seen = []

    def transform(obj):
        seen.append(obj["metadata"]["name"])
        obj["data"] = {"kept": "yes"}
        return obj

    informer, script, heard = run(
        [
            ("ADDED", config_map("a", 1, v="1")),
            initial_end(3),
            ("ADDED", config_map("b", 4)),
        ],
        transform=transform,
    )
    dry(script)
    assert seen == ["a", "b"]
    assert [e.entry.deep_copy()["data"] for e in heard] == [{"kept": "yes"}] * 2
    assert informer.get(ObjectKey("n", "a"))["data"] == {"kept": "yes"}


@pytest.mark.parametrize("error", [ValueError, SystemExit, asyncio.CancelledError])
def test_in10_an_object_that_cannot_be_read_is_left_out_and_reported(run, error):
    """In a state as in an event; it comes back as soon as it can be read."""
    broken = {("a", "1"), ("b", "4"), ("c", "5")}

    def transform(obj):
        meta = obj["metadata"]
        if (meta["name"], meta["resourceVersion"]) in broken:
            raise error("broken on purpose")
        return obj

    clock, reports = PausingClock(), []
    informer, script, heard = run(
        [
            ("ADDED", config_map("a", 1)),
            ("ADDED", config_map("b", 2)),
            initial_end(3),
            ("MODIFIED", config_map("b", 4)),
            ("ADDED", config_map("c", 5)),
            ("MODIFIED", config_map("a", 6)),
            ("DELETED", config_map("c", 5)),
            ("ADDED", config_map("d", 7)),
        ],
        transform=transform,
        clock=clock,
        report=reports.append,
    )
    dry(script)
    assert shown(heard) == ["Added b", "Deleted b", "Added a", "Added d"]
    assert [(one.key.name, resource_version(one.known)) for one in reports] == [
        ("a", "1"),
        ("b", "4"),
        ("c", "5"),
    ]
    assert "broken on purpose" in reports[0].message
    assert gvk_of(reports[0].known) == CONFIG_MAPS.gvk
    assert uid_of(reports[0].known) == "uid-a"
    assert "data" not in reports[0].known
    assert list(informer.unreadable) == [ObjectKey("n", "b")]
    assert clock.pauses == []


def test_in10_a_listed_object_that_cannot_be_read_is_left_out_and_reported_once(run):
    def transform(obj):
        if obj["metadata"]["name"] == "a":
            raise ValueError("broken on purpose")
        return obj

    reports = []
    page = Page([config_map("a", 1), config_map("b", 2)], "3")
    informer, script, heard = run(
        page,
        EXPIRED,
        page,
        streaming=False,
        transform=transform,
        report=reports.append,
    )
    dry(script)
    assert shown(heard) == ["Added b"]
    assert len(reports) == 1
    assert list(informer.unreadable) == [ObjectKey("n", "a")]


def test_defect_in_our_own_code_does_not_end_the_watch(run):
    """Whatever is raised: the kind is tried again, and says why."""
    _, script, _ = run(ZeroDivisionError("ours"), [initial_end(3)])
    dry(script)
    assert [verb for verb, _ in asked(script)] == ["stream", "stream", "watch"]
