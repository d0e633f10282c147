"""Resource versions, generations and writes that change nothing."""

import re

from contractclient import JSON_PATCH, Server, config_maps, widget, widgets


def test_create_fills_in_what_the_server_owns(server: Server, namespace: str):
    meta = server.post(widgets(namespace), widget()).expect(201).json["metadata"]
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", meta["uid"])
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    assert re.fullmatch(stamp, meta["creationTimestamp"])
    assert meta["generation"] == 1
    assert meta["resourceVersion"].isdigit()
    assert meta["namespace"] == namespace


def test_server_owned_fields_of_a_create_are_the_servers(
    server: Server, namespace: str
):
    body = widget()
    body["metadata"] |= {
        "uid": "8f0c7c5e-0000-4000-8000-000000000000",
        "generation": 9,
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "selfLink": "/somewhere",
    }
    meta = server.post(widgets(namespace), body).expect(201).json["metadata"]
    assert meta["uid"] != body["metadata"]["uid"]
    assert meta["generation"] == 1
    assert not meta["creationTimestamp"].startswith("2001")
    assert "deletionTimestamp" not in meta


def test_a_create_with_a_resource_version_is_refused(server: Server, namespace: str):
    body = widget()
    body["metadata"]["resourceVersion"] = "1"
    answer = server.post(widgets(namespace), body).expect(500)
    assert "resourceVersion should not be set" in answer.json["message"]


def test_one_version_counts_for_all_kinds(server: Server, namespace: str):
    first = server.post(widgets(namespace), widget()).expect(201)
    second = server.post(config_maps(namespace), {"metadata": {"name": "c"}})
    third = server.post(widgets(namespace), widget()).expect(201)
    assert int(first.rv) < int(second.rv) < int(third.rv)


def test_generation_follows_the_spec_alone(server: Server, namespace: str):
    made = server.post(widgets(namespace), widget("g")).expect(201)
    path = widgets(namespace, "g")
    labelled = server.patch(path, {"metadata": {"labels": {"a": "b"}}}).expect(200)
    noted = server.patch(path, {"metadata": {"annotations": {"a": "b"}}}).expect(200)
    stated = server.patch(f"{path}/status", {"status": {"ok": True}}).expect(200)
    respected = server.patch(path, {"spec": {"size": 2}}).expect(200)
    generations = [
        answer.json["metadata"]["generation"]
        for answer in (made, labelled, noted, stated, respected)
    ]
    assert generations == [1, 1, 1, 1, 2]
    versions = [int(a.rv) for a in (made, labelled, noted, stated, respected)]
    assert versions == sorted(set(versions))


def test_built_in_kinds_without_a_spec_have_no_generation(
    server: Server, namespace: str
):
    made = server.post(config_maps(namespace), {"metadata": {"name": "c"}}).expect(201)
    assert "generation" not in made.json["metadata"]


def test_an_identical_put_keeps_the_version(server: Server, namespace: str):
    made = server.post(widgets(namespace), widget("same")).expect(201)
    again = server.put(widgets(namespace, "same"), made.json).expect(200)
    assert again.rv == made.rv


def test_an_identical_put_of_a_built_in_keeps_the_version(
    server: Server, namespace: str
):
    body = {"metadata": {"name": "same"}, "data": {"a": "b"}}
    made = server.post(config_maps(namespace), body).expect(201)
    again = server.put(config_maps(namespace, "same"), body).expect(200)
    assert again.rv == made.rv


def test_a_merge_patch_that_changes_nothing_keeps_the_version(
    server: Server, namespace: str
):
    made = server.post(widgets(namespace), widget("same")).expect(201)
    again = server.patch(widgets(namespace, "same"), {"spec": {"size": 1}})
    assert again.expect(200).rv == made.rv


def test_a_json_patch_that_changes_nothing_keeps_the_version(
    server: Server, namespace: str
):
    made = server.post(widgets(namespace), widget("same")).expect(201)
    patch = [{"op": "replace", "path": "/spec/size", "value": 1}]
    again = server.patch(widgets(namespace, "same"), patch, JSON_PATCH).expect(200)
    assert again.rv == made.rv


def test_an_apply_that_changes_nothing_keeps_the_version(
    server: Server, namespace: str
):
    path = widgets(namespace, "same")
    made = server.apply(path, widget("same"), "me").expect(201)
    again = server.apply(path, widget("same"), "me").expect(200)
    assert again.rv == made.rv


def test_a_status_write_that_changes_nothing_keeps_the_version(
    server: Server, namespace: str
):
    server.post(widgets(namespace), widget("same")).expect(201)
    path = widgets(namespace, "same", "status")
    first = server.patch(path, {"status": {"a": 1}}).expect(200)
    assert server.patch(path, {"status": {"a": 1}}).expect(200).rv == first.rv


def test_a_write_that_changes_nothing_makes_no_event(server: Server, namespace: str):
    made = server.post(widgets(namespace), widget("same")).expect(201)
    path = widgets(namespace, "same")
    with server.watch(widgets(namespace), resourceVersion=made.rv) as events:
        server.put(path, made.json).expect(200)
        changed = server.patch(path, {"spec": {"size": 2}}).expect(200)
        assert next(events)["object"]["metadata"]["resourceVersion"] == changed.rv
