"""events.k8s.io/v1: what is written of what comes again and again, and when."""

from datetime import UTC, datetime
from threading import Event

import pytest
from notedclock import NotedClock

from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.event_correlator import EventRecord
from asoreconcile.kube.event_encoding import EVENT_SERIES
from asoreconcile.kube.event_queue import GATHER_SECONDS
from asoreconcile.kube.events import EventRecorder, SeriesCorrelator

FROM = datetime(2026, 1, 1, tzinfo=UTC)
OBJ = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "one", "namespace": "n", "uid": "u", "resourceVersion": "7"},
}


class Server:
    """Keeps what it is sent."""

    def __init__(self):
        self.created, self.patched = [], []
        self.expired = False
        self.held = None

    def hold(self):
        """Have the next creation wait for `held` to be set; told when it came."""
        self.held, came = Event(), Event()
        self._came = came
        return came

    def create(self, resource, obj):
        assert resource == EVENT_SERIES
        if self.held is not None:
            self._came.set()
            assert self.held.wait(30)
        self.created.append(obj)
        return obj

    def patch(self, resource, key, body):
        assert resource == EVENT_SERIES
        if self.expired:
            raise NotFoundError("expired", status=404)
        self.patched.append((key, body["series"]["count"]))
        return body


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def clock():
    return NotedClock()


@pytest.fixture
def recorder(server, clock):
    recorder = EventRecorder(
        server, "operator", clock=clock, api="events.k8s.io/v1", instance="pod-1"
    )
    recorder.start()
    yield recorder
    assert recorder.stop(10) == []


def record(recorder, note="slow", *, times=1, reason="Busy", action=""):
    for _ in range(times):
        recorder.event(OBJ, "Warning", reason, note, action=action)
    assert recorder.flush(10)


def test_first_event_names_what_was_done_and_by_whom(server, recorder):
    record(recorder, action="Create")
    (event,) = server.created
    name = event["metadata"].pop("name")
    assert name.startswith("one.")
    assert event == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "n"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "operator",
        "reportingInstance": "pod-1",
        "action": "Create",
        "reason": "Busy",
        "note": "slow",
        "type": "Warning",
        "regarding": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "namespace": "n",
            "name": "one",
            "uid": "u",
            "resourceVersion": "7",
        },
    }


def test_action_is_the_reason_unless_said(server, recorder):
    record(recorder)
    assert server.created[0]["action"] == "Busy"


def test_second_makes_a_series_and_the_rest_are_only_counted(server, recorder):
    record(recorder, times=5)
    record(recorder, note="another note")
    assert len(server.created) == 1
    assert [count for _, count in server.patched] == [2]


def test_other_reasons_and_actions_are_events_of_their_own(server, recorder):
    record(recorder)
    record(recorder, reason="Slow")
    record(recorder, action="Delete")
    assert len(server.created) == 3


def test_running_series_is_written_again_after_half_an_hour(server, clock, recorder):
    record(recorder, times=3)
    for _ in range(6):
        clock.advance(300.0)
        record(recorder)
    assert [count for _, count in server.patched] == [2, 9]


def test_series_that_stopped_is_written_once_more(server, clock, recorder):
    record(recorder, times=4)
    clock.advance(359.0)
    assert recorder.flush(10)
    assert [count for _, count in server.patched] == [2]
    clock.advance(1.0)
    assert recorder.flush(10)
    assert [count for _, count in server.patched] == [2, 4]
    clock.advance(3600.0)
    assert recorder.flush(10)
    assert len(server.patched) == 2


def test_series_that_stop_one_after_another_are_each_written_once_more(
    server, clock, recorder
):
    record(recorder, times=3)
    clock.advance(300.0)
    record(recorder, reason="Slow", times=4)
    clock.advance(60.0)
    assert recorder.flush(10)
    assert [count for _, count in server.patched] == [2, 2, 3]
    clock.advance(360.0)
    assert recorder.flush(10)
    assert [count for _, count in server.patched] == [2, 2, 3, 4]


def test_one_look_in_six_minutes_is_for_all_series(clock, recorder):
    for reason in ("Busy", "Slow", "Late"):
        record(recorder, reason=reason, times=2)
    assert [due for due in clock.due if due > 1] == [360.0]
    clock.advance(360.0)
    assert recorder.flush(10)
    clock.advance(3600.0)
    assert recorder.flush(10)
    assert [due for due in clock.due if due > 361] == []


def test_a_look_that_a_full_queue_left_no_room_for_is_made_up_for(
    server, clock, recorder
):
    record(recorder, times=3)
    came = server.hold()
    recorder.event(OBJ, "Warning", "Held", "long")
    clock.advance(0.1)
    assert came.wait(30)
    for _ in range(1000):
        recorder.event(OBJ, "Warning", "Full", "of it")
    clock.advance(360.0)
    server.held.set()
    assert recorder.flush(30)
    assert [count for _, count in server.patched] == [2, 2]
    clock.advance(360.0)
    assert recorder.flush(10)
    assert [count for _, count in server.patched] == [2, 2, 3, 1000]


def test_what_comes_after_six_minutes_is_a_new_event(server, clock, recorder):
    record(recorder)
    clock.advance(360.0)
    record(recorder)
    assert len(server.created) == 2
    assert (
        server.created[0]["metadata"]["name"] != server.created[1]["metadata"]["name"]
    )


def test_event_that_expired_begins_anew_with_its_series(server, recorder):
    record(recorder)
    server.expired = True
    record(recorder)
    first, again = server.created
    assert first["metadata"]["name"] != again["metadata"]["name"]
    assert again["series"]["count"] == 2
    assert "series" not in first


def test_stop_writes_what_was_only_counted(server, clock):
    recorder = EventRecorder(
        server, "operator", clock=clock, api="events.k8s.io/v1", instance="pod-1"
    )
    recorder.start()
    for _ in range(7):
        recorder.event(OBJ, "Warning", "Busy", "slow")
    assert recorder.stop(10) == []
    assert [count for _, count in server.patched] == [2, 7]


def test_stop_writes_what_was_only_counted_also_of_a_full_queue(server, clock):
    recorder = EventRecorder(
        server, "operator", clock=clock, api="events.k8s.io/v1", instance="pod-1"
    )
    recorder.start()
    record(recorder)
    assert recorder.flush(10)
    came = server.hold()
    recorder.event(OBJ, "Warning", "Held", "long")
    clock.advance(GATHER_SECONDS)
    assert came.wait(30)
    for _ in range(1000):
        recorder.event(OBJ, "Warning", "Busy", "slow")
    assert recorder.stop(0) != []
    server.held.set()
    assert recorder.flush(30)
    assert [count for _, count in server.patched] == [2, 1001]


def test_memory_holds_the_last_4096(clock):
    correlator = SeriesCorrelator()
    for number in range(5000):
        happened = EventRecord(OBJ, "Normal", f"R{number}", "m", clock.now())
        correlator.observe(happened, 0.0)
    assert len(correlator) == 4096


def test_default_instance_is_the_host(server, clock):
    recorder = EventRecorder(server, "operator", clock=clock, api="events.k8s.io/v1")
    recorder.start()
    record(recorder)
    assert recorder.stop(10) == []
    assert server.created[0]["reportingInstance"]


def test_what_comes_again_after_six_quiet_minutes_is_a_new_event():
    correlator, record = SeriesCorrelator(), EventRecord(OBJ, "Normal", "R", "m", FROM)
    first = correlator.observe(record, 0.0)
    assert correlator.observe(record, 359.9) is first
    later = correlator.observe(record, 359.9 + 360.0)
    assert later is not first
    assert (first.count, later.count) == (2, 1)


def test_a_series_that_was_told_to_its_end_is_not_told_again():
    correlator, record = SeriesCorrelator(), EventRecord(OBJ, "Normal", "R", "m", FROM)
    for _ in range(2):
        correlator.observe(record, 0.0)
    assert correlator.finished(360.0) == []
    for _ in range(3):
        correlator.observe(record, 400.0)
    ((_, series),) = correlator.finished(760.0)
    assert series.count == 3
