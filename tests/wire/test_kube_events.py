"""Events as they arrive at a real API: counts, namespaces, faults, the end."""

import pytest

from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import key_of
from asoreconcile.kube.event_queue import GATHER_SECONDS
from asoreconcile.kube.events import EventRecorder
from asoreconcile.kube.resources import CONFIG_MAPS, EVENTS, NAMESPACES
from asoreconcile.kube.selection import Selection
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.http import HttpResponse


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def recorder(client, clock):
    recorder = EventRecorder(
        client, "asoreconcile", clock=clock, uniform=lambda _low, high: high / 2
    )
    recorder.start()
    yield recorder
    client.close()  # whatever is queued ends here
    recorder.stop(10)


@pytest.fixture
def obj(client):
    body = {"metadata": {"name": "one", "namespace": "default"}}
    return client.create(CONFIG_MAPS, body)


def events(client, namespace="default"):
    return client.list_page(Selection(EVENTS, namespace)).items


def drive(clock, recorder):
    """Move time on until everything is written or given up."""
    for _ in range(1000):
        if recorder.flush(0.005):
            return
        clock.advance(0.5)
    raise AssertionError("the recorder does not come to an end")


def test_event_names_its_object_and_its_source(client, recorder, obj):
    recorder.event(obj, "Normal", "Created", "all is well")
    assert recorder.flush(10)
    (event,) = events(client)
    assert event["type"] == "Normal"
    assert event["reason"] == "Created"
    assert event["message"] == "all is well"
    assert event["count"] == 1
    assert event["source"] == {"component": "asoreconcile"}
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "namespace": "default",
        "name": "one",
        "uid": obj["metadata"]["uid"],
        "resourceVersion": obj["metadata"]["resourceVersion"],
    }


def test_each_controller_records_under_its_own_name(client, recorder, obj):
    recorder.named("network_virtualnetwork").event(obj, "Warning", "Failed", "no")
    recorder.named("cache_redis").event(obj, "Warning", "Failed", "no")
    assert recorder.flush(10)
    found = {event["source"]["component"]: event for event in events(client)}
    assert sorted(found) == ["cache_redis", "network_virtualnetwork"]
    for name, event in found.items():
        assert (event["reportingComponent"], event["count"]) == (name, 1)


def test_same_event_again_raises_its_count(client, clock, recorder, obj):
    for _ in range(3):
        recorder.event(obj, "Warning", "Failed", "no")
        clock.advance(60)
    assert recorder.flush(10)
    (event,) = events(client)
    assert event["count"] == 3
    assert event["firstTimestamp"] == "2026-01-01T00:00:00Z"
    assert event["lastTimestamp"] == "2026-01-01T00:02:00Z"


def test_many_messages_of_one_reason_end_in_one_event(client, recorder, obj):
    for number in range(15):
        recorder.event(obj, "Warning", "Failed", f"request {number}")
    assert recorder.flush(10)
    found = events(client)
    combined = [one for one in found if one["message"].startswith("(combined")]
    assert len(found) == 10
    assert [(one["count"], one["message"]) for one in combined] == [
        (6, "(combined from similar events): request 14")
    ]


def test_flood_of_one_reason_is_thinned_out(server, client, recorder, obj):
    for _ in range(60):
        recorder.event(obj, "Warning", "Failed", "no")
    recorder.event(obj, "Warning", "Other", "still heard")
    assert recorder.flush(10)
    writes = [one for one in server.journal if "/events" in one.path]
    assert len(writes) == 26
    assert {one["reason"]: one["count"] for one in events(client)} == {
        "Failed": 25,
        "Other": 1,
    }


def test_event_that_expired_is_written_anew(client, recorder, obj):
    recorder.event(obj, "Warning", "Failed", "no")
    assert recorder.flush(10)
    (event,) = events(client)
    name = event["metadata"]["name"]
    client.delete(EVENTS, key_of(event))
    recorder.event(obj, "Warning", "Failed", "no")
    assert recorder.flush(10)
    (event,) = events(client)
    assert event["metadata"]["name"] != name
    assert event["count"] == 2


def test_cluster_scoped_objects_have_their_events_in_default(client, recorder):
    namespace = client.create(NAMESPACES, {"metadata": {"name": "apart"}})
    recorder.event(namespace, "Normal", "Seen", "hello")
    assert recorder.flush(10)
    (event,) = events(client)
    assert event["involvedObject"]["name"] == "apart"


@pytest.mark.parametrize("api", ["v1", "events.k8s.io/v1"])
@pytest.mark.parametrize("source", ["mirror", "My App_ é", "example.com/x", "-", ""])
@pytest.mark.parametrize(
    "text", ["ß" * 900, "\U0001f600" * 400, "\ud800", "", "a" * 2000]
)
def test_no_event_is_lost_for_its_text(client, clock, obj, api, source, text):
    """The limits of events.k8s.io/v1 count bytes."""
    recorder = EventRecorder(client, source, clock=clock, api=api, instance=text)
    recorder.start()
    recorder.event(obj, "Warning", text, text, action=text)
    assert recorder.flush(10)
    recorder.stop(10)
    (event,) = events(client)
    assert len(event["message"].encode()) <= 1024
    assert len(event["reason"].encode()) <= 128


@pytest.mark.parametrize("api", ["v1", "events.k8s.io/v1"])
@pytest.mark.parametrize(
    "name", ["system:node", "Node_1", "a" * 199 + "-b", "a/b", "ß", "a\0", "\ud800", ""]
)
def test_no_event_is_lost_for_the_name_of_its_object(client, clock, obj, api, name):
    """Roles, for example, have names that no event may have."""
    recorder = EventRecorder(client, "mirror", clock=clock, api=api)
    recorder.start()
    recorder.event({**obj, "metadata": {"name": name}}, "Normal", "Seen", "hello")
    assert recorder.flush(10)
    recorder.stop(10)
    (event,) = events(client)
    assert event["involvedObject"]["name"] == name.replace("\ud800", "?")


def test_long_messages_are_cut_to_what_the_api_takes(client, recorder, obj):
    for number in range(11):
        recorder.event(obj, "Normal", "Long", f"{number}" + "x" * 5000)
    assert recorder.flush(10)
    found = events(client)
    assert {len(one["message"]) for one in found} == {1024}


@pytest.mark.parametrize("phase", ["before", "after"])
def test_lost_answer_is_tried_again_and_makes_one_event(
    server, client, clock, recorder, obj, phase
):
    server.faults.drop("POST", "/events", phase=phase, times=2)
    recorder.event(obj, "Warning", "Failed", "no")
    drive(clock, recorder)
    # The first pause is a random part of ten seconds, the second one all of them.
    assert clock.monotonic() >= 15.0
    (event,) = events(client)
    assert event["count"] == 1


def test_refused_event_is_not_tried_again(server, client, recorder, obj):
    server.faults.respond("POST", "/events", HttpResponse(403, b"{}"))
    recorder.event(obj, "Warning", "Refused", "no")
    recorder.event(obj, "Warning", "Taken", "yes")
    assert recorder.flush(10)
    assert [one["reason"] for one in events(client)] == ["Taken"]


def test_server_away_for_good_costs_twelve_tries(server, clock, recorder, obj):
    server.faults.drop("POST", "/events", times=99)
    recorder.event(obj, "Warning", "Failed", "no")
    drive(clock, recorder)
    assert clock.monotonic() >= 105.0
    assert [one for one in server.journal if "/events" in one.path] == []


def test_recording_never_blocks_and_drops_what_the_queue_cannot_hold(
    server, client, clock, obj, caplog
):
    hold = server.faults.hold(method="POST", path="/events")
    recorder = EventRecorder(client, "asoreconcile", clock=clock)
    recorder.start()
    recorder.event(obj, "Normal", "First", "holds the writer")
    clock.advance(GATHER_SECONDS)
    assert hold.wait_arrived(10)
    for number in range(1001):
        recorder.event(obj, "Normal", f"R{number}", "m")
    assert recorder.flush(0) is False
    assert [one.msg for one in caplog.records] == ["Dropping event"]
    client.close()
    assert recorder.stop(10) == ["events (1000 not written)"]
    hold.release()


def test_stop_writes_what_is_queued(client, obj):
    recorder = EventRecorder(client, "asoreconcile", clock=SystemClock())
    recorder.start()
    for number in range(20):
        recorder.event(obj, "Normal", f"R{number}", "m")
    assert recorder.stop(10) == []
    assert len(events(client)) == 20
