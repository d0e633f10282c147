"""Watches: their beginnings, events and ends."""

import itertools
from collections.abc import Iterator

from contractclient import Json, Server, config_maps, widget, widgets

_END = "k8s.io/initial-events-end"


def told(events: Iterator[Json], count: int) -> list[tuple[str, str]]:
    """The next events: their types and names."""
    return [
        (event["type"], event["object"]["metadata"].get("name", ""))
        for event in itertools.islice(events, count)
    ]


def test_from_a_version_only_later_events_come(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a")).expect(201)
    at = server.get(widgets(namespace)).rv
    with server.watch(widgets(namespace), resourceVersion=at) as events:
        server.post(widgets(namespace), widget("b")).expect(201)
        server.patch(widgets(namespace, "a"), {"spec": {"size": 2}}).expect(200)
        server.delete(widgets(namespace, "b")).expect(200)
        assert told(events, 3) == [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]


def test_without_a_version_everything_there_is_added_first(
    server: Server, namespace: str
):
    server.post(widgets(namespace), widget("b")).expect(201)
    server.post(widgets(namespace), widget("a")).expect(201)
    with server.watch(widgets(namespace)) as events:
        assert sorted(told(events, 2)) == [("ADDED", "a"), ("ADDED", "b")]
        server.post(widgets(namespace), widget("c")).expect(201)
        assert told(events, 1) == [("ADDED", "c")]


def test_version_0_is_as_without(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a")).expect(201)
    with server.watch(widgets(namespace), resourceVersion="0") as events:
        assert told(events, 1) == [("ADDED", "a")]


def test_a_replayed_version_tells_all_that_followed(server: Server, namespace: str):
    made = server.post(widgets(namespace), widget("a")).expect(201)
    second = server.patch(widgets(namespace, "a"), {"spec": {"size": 2}})
    third = server.patch(widgets(namespace, "a"), {"spec": {"size": 3}})
    with server.watch(widgets(namespace), resourceVersion=made.rv) as events:
        versions = [
            event["object"]["metadata"]["resourceVersion"]
            for event in itertools.islice(events, 2)
        ]
    assert versions == [second.rv, third.rv]


def test_watch_1_is_a_watch(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a")).expect(201)
    with server.watch(widgets(namespace), watch="1") as events:
        assert told(events, 1) == [("ADDED", "a")]


def test_the_stream_is_chunked_json(server: Server, namespace: str):
    answer = server.get(widgets(namespace), watch="true", timeoutSeconds=1)
    assert answer.expect(200).headers["Content-Type"] == "application/json"
    assert answer.headers["Transfer-Encoding"] == "chunked"


def test_the_timeout_ends_the_stream_cleanly(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a")).expect(201)
    with server.watch(widgets(namespace), timeoutSeconds=1) as events:
        assert [event["type"] for event in events] == ["ADDED"]


def test_a_version_of_the_future_is_silent(server: Server, namespace: str):
    made = server.post(widgets(namespace), widget("a")).expect(201)
    future = str(int(made.rv) + 1_000_000)
    query = {"resourceVersion": future, "timeoutSeconds": 1}
    with server.watch(widgets(namespace), **query) as events:
        assert told(events, 1) == []


def test_a_version_that_is_none_is_the_servers_error(server: Server, namespace: str):
    answer = server.get(widgets(namespace), watch="true", resourceVersion="abc")
    answer.expect(500)
    assert "resourceVersion: Invalid value" in answer.json["message"]


def test_leaving_a_selection_is_a_deletion(server: Server, namespace: str):
    body = widget("a")
    body["metadata"]["labels"] = {"in": "yes"}
    made = server.post(widgets(namespace), body).expect(201)
    path = widgets(namespace, "a")
    query = {"labelSelector": "in=yes", "resourceVersion": made.rv}
    with server.watch(widgets(namespace), **query) as events:
        left = server.patch(path, {"metadata": {"labels": {"in": "no"}}}).expect(200)
        gone = next(events)
        assert gone["type"] == "DELETED"
        # The state that was selected, at the version that ended it.
        assert gone["object"]["metadata"]["labels"] == {"in": "yes"}
        assert gone["object"]["metadata"]["resourceVersion"] == left.rv
        server.patch(path, {"spec": {"size": 3}}).expect(200)
        server.patch(path, {"metadata": {"labels": {"in": "yes"}}}).expect(200)
        assert told(events, 1) == [("ADDED", "a")]


def test_a_field_selector_narrows_a_watch(server: Server, namespace: str):
    query = {"fieldSelector": "metadata.name=b"}
    with server.watch(widgets(namespace), **query) as events:
        server.post(widgets(namespace), widget("a")).expect(201)
        server.post(widgets(namespace), widget("b")).expect(201)
        assert told(events, 1) == [("ADDED", "b")]


def test_a_selectable_field_narrows_a_watch(server: Server, namespace: str):
    at = server.get(widgets(namespace)).rv
    query = {"fieldSelector": "spec.color=red", "resourceVersion": at}
    with server.watch(widgets(namespace), **query) as events:
        server.post(widgets(namespace), widget("a", color="green")).expect(201)
        server.post(widgets(namespace), widget("b", color="red")).expect(201)
        path = widgets(namespace, "b")
        server.patch(path, {"spec": {"color": "blue"}}).expect(200)
        assert told(events, 2) == [("ADDED", "b"), ("DELETED", "b")]


def test_one_namespace_hears_nothing_of_another(server: Server, namespace: str):
    at = server.get(widgets(namespace)).rv
    with (
        server.namespace() as other,
        server.watch(widgets(namespace), resourceVersion=at) as events,
    ):
        server.post(widgets(other), widget("x")).expect(201)
        server.post(widgets(namespace), widget("y")).expect(201)
        assert told(events, 1) == [("ADDED", "y")]


def test_all_namespaces(server: Server, namespace: str):
    path = "/apis/contract.example.com/v1/widgets"
    at = server.get(path).rv
    with server.watch(path, resourceVersion=at) as events:
        server.post(widgets(namespace), widget("everywhere")).expect(201)
        assert told(events, 1) == [("ADDED", "everywhere")]


def test_bookmarks_tell_how_far_the_stream_is(server: Server, namespace: str):
    query = {"allowWatchBookmarks": "true", "timeoutSeconds": 4}
    at = server.get(widgets(namespace)).rv
    with (
        server.namespace() as other,
        server.watch(widgets(namespace), resourceVersion=at, **query) as events,
    ):
        server.post(widgets(other), widget("elsewhere")).expect(201)
        mark = next(event for event in events if event["type"] == "BOOKMARK")["object"]
    assert mark["kind"] == "Widget"
    assert int(mark["metadata"]["resourceVersion"]) > int(at)


def test_no_bookmarks_uncalled_for(server: Server, namespace: str):
    with server.watch(widgets(namespace), timeoutSeconds=1) as events:
        assert list(events) == []


def test_initial_events_end_with_a_bookmark(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a")).expect(201)
    query = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    with server.watch(widgets(namespace), **query) as events:
        assert told(events, 1) == [("ADDED", "a")]
        end = next(events)
        assert end["type"] == "BOOKMARK"
        assert end["object"]["metadata"]["annotations"][_END] == "true"
        server.post(widgets(namespace), widget("b")).expect(201)
        assert told(events, 1) == [("ADDED", "b")]


def test_initial_events_need_their_match(server: Server, namespace: str):
    query = {"watch": "true", "sendInitialEvents": "true"}
    answer = server.get(widgets(namespace), **query)
    assert answer.refused(422, "Invalid")["details"]["kind"] == "ListOptions"


def test_a_match_without_initial_events_is_invalid(server: Server, namespace: str):
    query = {"watch": "true", "resourceVersionMatch": "NotOlderThan"}
    query |= {"resourceVersion": "1"}
    answer = server.get(widgets(namespace), **query)
    assert answer.refused(422, "Invalid")["details"]["kind"] == "ListOptions"


def test_a_version_that_is_too_old_is_told_in_the_stream(
    server: Server, namespace: str
):
    with server.watch(config_maps(namespace), resourceVersion="1") as events:
        event = next(events, None)
    if event is not None and event["type"] == "ERROR":
        assert event["object"]["kind"] == "Status"
        assert event["object"]["code"] == 410
        assert event["object"]["reason"] == "Expired"


def test_a_bad_selector_is_refused_before_the_stream(server: Server, namespace: str):
    query = {"watch": "true", "labelSelector": "a b"}
    server.get(widgets(namespace), **query).refused(400, "BadRequest")


def test_watching_metadata_alone(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a")).expect(201)
    form = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    answer = server.call(
        "GET",
        f"{widgets(namespace)}?watch=true&timeoutSeconds=1",
        headers={"Accept": form},
    ).expect(200)
    obj = answer.json["object"]
    assert obj["kind"] == "PartialObjectMetadata"
    assert "spec" not in obj


def test_an_unknown_kind_cannot_be_watched(server: Server, namespace: str):
    path = f"/apis/contract.example.com/v1/namespaces/{namespace}/gadgets"
    assert server.get(path, watch="true").status == 404
