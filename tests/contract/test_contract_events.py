"""Events: one thing stored, shown as `v1` and as `events.k8s.io/v1`."""

import pytest
from contractclient import APPLY, MERGE, STRATEGIC

WHEN = "2026-01-01T00:00:00.000000Z"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
SHOWN_ALWAYS = {
    "deprecatedSource": {},
    "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
}


def old(namespace, name=""):
    path = f"/api/v1/namespaces/{namespace}/events"
    return f"{path}/{name}" if name else path


def new(namespace, name=""):
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    return f"{path}/{name}" if name else path


def old_event(namespace, name="old", **more):
    return {
        "metadata": {"name": name},
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": "p"},
        "message": "hello",
        "reason": "Because",
        "type": "Normal",
        "count": 3,
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:01Z",
        "source": {"component": "me", "host": "h"},
        **more,
    }


def new_event(namespace, name="new", **more):
    return {
        "metadata": {"name": name},
        "regarding": {"kind": "Pod", "namespace": namespace, "name": "p"},
        "note": "hi",
        "reason": "Why",
        "action": "Do",
        "type": "Warning",
        "eventTime": WHEN,
        "reportingController": "x.io/y",
        "reportingInstance": "i",
        **more,
    }


def content(event):
    return {name: value for name, value in event.items() if name != "metadata"}


@pytest.fixture
def both(server, namespace):
    server.post(old(namespace), old_event(namespace)).expect(201)
    series = {"count": 2, "lastObservedTime": WHEN}
    server.post(new(namespace), new_event(namespace, series=series)).expect(201)


def test_an_old_event_reads_as_a_new_one(server, namespace, both):
    assert content(server.get(new(namespace, "old")).expect(200).json) == {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "regarding": {"kind": "Pod", "namespace": namespace, "name": "p"},
        "note": "hello",
        "reason": "Because",
        "type": "Normal",
        "eventTime": None,
        "deprecatedCount": 3,
        "deprecatedFirstTimestamp": "2026-01-01T00:00:00Z",
        "deprecatedLastTimestamp": "2026-01-01T00:00:01Z",
        "deprecatedSource": {"component": "me", "host": "h"},
    }


def test_a_new_event_reads_as_an_old_one(server, namespace, both):
    assert content(server.get(old(namespace, "new")).expect(200).json) == {
        "kind": "Event",
        "apiVersion": "v1",
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": "p"},
        "message": "hi",
        "reason": "Why",
        "action": "Do",
        "type": "Warning",
        "eventTime": WHEN,
        "series": {"count": 2, "lastObservedTime": WHEN},
        "reportingComponent": "x.io/y",
        "reportingInstance": "i",
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
    }


def test_both_paths_are_one_thing(server, namespace, both):
    one, other = (server.get(path(namespace, "new")).json for path in (old, new))
    assert one["metadata"] == other["metadata"]
    server.patch(old(namespace, "old"), {"count": 9}, STRATEGIC).expect(200)
    found = server.get(new(namespace, "old")).json
    assert found["deprecatedCount"] == 9
    server.delete(new(namespace, "old")).expect(200)
    server.get(old(namespace, "old")).refused(404, "NotFound")
    refused = server.post(old(namespace), old_event(namespace, "new"))
    refused.refused(409, "AlreadyExists")


def test_lists_show_all_events_in_their_form(server, namespace, both):
    listed = server.get(new(namespace)).expect(200).json
    assert (listed["kind"], listed["apiVersion"]) == ("EventList", "events.k8s.io/v1")
    assert [item["note"] for item in listed["items"]] == ["hi", "hello"]
    assert "kind" not in listed["items"][0]
    assert listed["items"][0].items() >= SHOWN_ALWAYS.items()
    listed = server.get(old(namespace)).expect(200).json
    assert [item["message"] for item in listed["items"]] == ["hi", "hello"]


@pytest.mark.parametrize(
    ("path", "selector", "chosen"),
    [
        (new, "regarding.name=p,type=Warning", ["new"]),
        (new, "reportingController=x.io/y", ["new"]),
        (new, "reason!=Why", ["old"]),
        (old, "involvedObject.name=p,type=Normal", ["old"]),
        (old, "reportingComponent=x.io/y", ["new"]),
        (old, "source=me", ["old"]),
        (old, "source=x.io/y", ["new"]),
        (new, "involvedObject.name=p", None),
        (new, "source=me", None),
        (old, "regarding.name=p", None),
        (old, "reportingController=x.io/y", None),
    ],
)
def test_field_selectors_go_by_the_fields_of_the_version(
    server, namespace, both, path, selector, chosen
):
    answer = server.get(path(namespace), fieldSelector=selector)
    if chosen is None:
        label = selector.partition("=")[0]
        message = answer.refused(400, "BadRequest")["message"]
        assert message.endswith(f"field label not supported: {label}")
        return
    items = answer.expect(200).json["items"]
    assert [item["metadata"]["name"] for item in items] == chosen


@pytest.mark.parametrize("made", [old, new])
@pytest.mark.parametrize("watched", [old, new])
def test_watches_hear_of_both(server, namespace, made, watched):
    note, text = (
        "message" if watched is old else "note",
        "hello" if made is old else "hi",
    )
    event = (old_event if made is old else new_event)(namespace, "one")
    start = server.get(watched(namespace)).rv
    with server.watch(watched(namespace), resourceVersion=start) as events:
        server.post(made(namespace), event).expect(201)
        server.patch(made(namespace, "one"), {"metadata": {"labels": {"a": "b"}}})
        server.delete(made(namespace, "one")).expect(200)
        seen = [next(events) for _ in range(3)]
    assert [event["type"] for event in seen] == ["ADDED", "MODIFIED", "DELETED"]
    version = "v1" if watched is old else "events.k8s.io/v1"
    assert {event["object"]["apiVersion"] for event in seen} == {version}
    assert {event["object"][note] for event in seen} == {text}


def test_tables_show_the_same_of_both(server, namespace, both):
    tables = [
        server.call("GET", path(namespace), headers=TABLE).expect(200).json
        for path in (old, new)
    ]
    assert tables[0]["columnDefinitions"] == tables[1]["columnDefinitions"]
    cells = [row["cells"] for row in tables[1]["rows"]]
    assert [(c[1], c[2], c[3], c[5], c[6], c[8], c[9]) for c in cells] == [
        ("Warning", "Why", "pod/p", "x.io/y, i", "hi", 2, "new"),
        ("Normal", "Because", "pod/p", "me, h", "hello", 3, "old"),
    ]


def fields(answer):
    answer.refused(422, "Invalid")
    return sorted(cause["field"] for cause in answer.causes)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"eventTime": None}, ["eventTime"]),
        ({"type": "Odd"}, ["type"]),
        ({"action": ""}, ["action"]),
        ({"reason": "x" * 129}, ["reason"]),
        ({"note": "x" * 1025}, ["message"]),
        ({"reportingController": "a b"}, ["reportingController"]),
        ({"reportingInstance": ""}, ["reportingInstance"]),
        ({"deprecatedCount": 2}, ["count"]),
        ({"deprecatedSource": {"host": "x"}}, ["source"]),
        ({"series": {"count": 1}}, ["series.count", "series.lastObservedTime"]),
        ({"regarding": {"kind": "Pod"}}, ["involvedObject.namespace"]),
    ],
    ids=",".join,
)
def test_what_is_written_the_new_way_is_checked_more(
    server, namespace, change, expected
):
    answer = server.post(new(namespace), new_event(namespace, **change))
    assert fields(answer) == expected
    assert answer.json["details"]["kind"] == "Event"
    assert "group" not in answer.json["details"]


def test_an_old_event_with_a_new_time_is_checked_as_well(server, namespace):
    event = old_event(namespace, eventTime=WHEN)
    assert fields(server.post(old(namespace), event)) == [
        *("action", "reportingComponent", "reportingComponent", "reportingComponent"),
        "reportingInstance",
    ]


def test_the_new_way_only_series_and_metadata_change(server, namespace, both):
    path = new(namespace, "new")
    series = {"count": 3, "lastObservedTime": WHEN}
    server.patch(path, {"series": series}).expect(200)
    assert fields(server.patch(path, {"note": "other", "type": "Normal"})) == [
        *("message", "type")
    ]
    server.patch(old(namespace, "new"), {"message": "other"}).expect(200)


@pytest.mark.parametrize("sort", [MERGE, APPLY])
def test_owners_are_noted_in_the_form_of_the_writer(server, namespace, sort):
    path, event = new(namespace, "one"), new_event(namespace, "one")
    if sort == MERGE:
        server.post(new(namespace), event, fieldManager="me").expect(201)
    else:
        stated = {"apiVersion": "events.k8s.io/v1", "kind": "Event"}
        server.apply(path, event | stated, "me").expect(201)
    (entry,) = server.get(old(namespace, "one")).json["metadata"]["managedFields"]
    assert entry["apiVersion"] == "events.k8s.io/v1"
    assert entry["fieldsV1"] == {
        f"f:{name}": {}
        for name in (
            *("action", "eventTime", "note", "reason", "regarding"),
            *("reportingController", "reportingInstance", "type"),
        )
    }


def test_the_other_version_is_not_taken(server, namespace):
    stated = {"apiVersion": "v1", "kind": "Event"}
    answer = server.post(new(namespace), old_event(namespace) | stated)
    assert answer.refused(400, "BadRequest")["message"] == (
        "the API version in the data (v1) does not match the expected API version "
        "(events.k8s.io/v1)"
    )


def test_discovery_tells_of_both(server):
    (found,) = server.get("/apis/events.k8s.io/v1").expect(200).json["resources"]
    (event,) = [
        r for r in server.get("/api/v1").json["resources"] if r["name"] == "events"
    ]
    assert found == event
    schemas = server.get("/openapi/v3/apis/events.k8s.io/v1").expect(200).json
    properties = schemas["components"]["schemas"]["io.k8s.api.events.v1.Event"]
    assert {"note", "regarding", "deprecatedCount"} <= properties["properties"].keys()
