"""Merge, JSON and strategic patches, and bodies that are not valid patches."""

import pytest
from contractclient import (
    JSON_PATCH,
    STRATEGIC,
    Json,
    Server,
    config_maps,
    widget,
    widgets,
)


@pytest.fixture
def path(server: Server, namespace: str) -> str:
    """The path of a widget with some content."""
    body = widget("a", size=1, color="red", steps=["x", "y"], tags=["t"])
    body["metadata"] |= {"labels": {"a": "b"}, "annotations": {"n": "1"}}
    server.post(widgets(namespace), body).expect(201)
    return widgets(namespace, "a")


def test_null_deletes(server: Server, path: str):
    patch = {"spec": {"color": None}, "metadata": {"labels": {"a": None}}}
    after = server.patch(path, patch).expect(200).json
    assert "color" not in after["spec"]
    assert "labels" not in after["metadata"]


def test_a_merge_patch_replaces_lists_and_merges_objects(server: Server, path: str):
    after = server.patch(path, {"spec": {"steps": ["z"]}}).expect(200).json
    assert after["spec"] == {
        "size": 1,
        "color": "red",
        "steps": ["z"],
        "tags": ["t"],
    }


def test_a_version_in_a_merge_patch_is_a_precondition(server: Server, path: str):
    current = server.get(path).rv
    patch = {"metadata": {"resourceVersion": current}, "spec": {"size": 2}}
    server.patch(path, patch).expect(200)
    refusal = server.patch(path, patch).refused(409, "Conflict")
    assert refusal["details"]["kind"] == "widgets"


def test_a_uid_in_a_merge_patch_is_a_precondition(server: Server, path: str):
    wrong = "8f0c7c5e-0000-4000-8000-000000000000"
    answer = server.patch(path, {"metadata": {"uid": wrong}, "spec": {"size": 2}})
    answer.refused(422, "Invalid")
    assert answer.causes[0]["field"] == "metadata.uid"
    assert (
        answer.causes[0]["message"] == f'Invalid value: "{wrong}": field is immutable'
    )


def test_a_patch_cannot_rename(server: Server, path: str):
    refusal = server.patch(path, {"metadata": {"name": "b"}}).refused(400, "BadRequest")
    assert "does not match the name on the URL" in refusal["message"]


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "test", "path": "/spec/size", "value": 9}],
        [{"op": "remove", "path": "/spec/nothing"}],
        [{"op": "add", "path": "/spec/no/thing", "value": 1}],
        [{"op": "add", "path": "/spec/steps/9", "value": "q"}],
    ],
    ids=["failed test", "remove absent", "no parent", "past the end"],
)
def test_a_json_patch_that_does_not_apply_is_invalid(
    server: Server, path: str, operations: list[Json]
):
    before = server.get(path).rv
    refusal = server.patch(path, operations, JSON_PATCH).refused(422, "Invalid")
    assert refusal["message"] == (
        "the server rejected our request due to an error in our request"
    )
    assert server.get(path).rv == before


def test_json_patch_operations(server: Server, path: str):
    operations = [
        {"op": "test", "path": "/spec/size", "value": 1},
        {"op": "add", "path": "/spec/steps/-", "value": "z"},
        {"op": "replace", "path": "/spec/steps/0", "value": "w"},
        {"op": "replace", "path": "/spec/size", "value": 5},
        {"op": "copy", "from": "/spec/color", "path": "/spec/mode"},
        {"op": "move", "from": "/spec/tags", "path": "/spec/free"},
        {"op": "remove", "path": "/spec/free"},
        {"op": "add", "path": "/metadata/labels/x~1y", "value": "1"},
        {"op": "remove", "path": "/metadata/annotations"},
    ]
    after = server.patch(path, operations, JSON_PATCH).expect(200).json
    assert after["spec"] == {
        "size": 5,
        "color": "red",
        "mode": "red",
        "steps": ["w", "y", "z"],
    }
    assert after["metadata"]["labels"] == {"a": "b", "x/y": "1"}
    assert "annotations" not in after["metadata"]


def test_a_json_patch_on_an_old_version_is_a_conflict(server: Server, path: str):
    old = server.get(path).rv
    server.patch(path, {"spec": {"size": 2}}).expect(200)
    operations = [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": old},
        {"op": "replace", "path": "/spec/size", "value": 3},
    ]
    server.patch(path, operations, JSON_PATCH).refused(409, "Conflict")


def test_a_json_patch_of_status(server: Server, path: str):
    operations = [{"op": "add", "path": "/status", "value": {"a": 1}}]
    after = server.patch(f"{path}/status", operations, JSON_PATCH).expect(200).json
    assert after["status"] == {"a": 1}


def test_a_json_patch_must_be_a_list(server: Server, path: str):
    server.patch(path, {"op": "remove"}, JSON_PATCH).refused(400, "BadRequest")


@pytest.mark.parametrize("sort", [STRATEGIC, "application/json", "text/plain"])
def test_kinds_of_patch_a_custom_resource_does_not_take(
    server: Server, path: str, sort: str
):
    refusal = server.patch(path, {"spec": {"size": 2}}, sort).refused(
        415, "UnsupportedMediaType"
    )
    assert "application/merge-patch+json" in refusal["message"]


def test_a_strategic_patch_is_for_built_ins(server: Server, namespace: str):
    body = {"metadata": {"name": "a", "finalizers": ["example.com/a"]}}
    server.post(config_maps(namespace), body | {"data": {"a": "1"}}).expect(201)
    path = config_maps(namespace, "a")
    patch = {"metadata": {"finalizers": ["example.com/b"]}, "data": {"b": "2"}}
    after = server.patch(path, patch, STRATEGIC).expect(200).json
    assert sorted(after["metadata"]["finalizers"]) == ["example.com/a", "example.com/b"]
    assert after["data"] == {"a": "1", "b": "2"}
    server.patch(path, {"metadata": {"finalizers": None}}).expect(200)


def test_a_strategic_patch_joins_owners_by_uid(server: Server, namespace: str):
    def owner(uid: str, name: str) -> Json:
        return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}

    body = {"metadata": {"name": "a", "ownerReferences": [owner("1", "x")]}}
    # An owner that does not exist would have it collected.
    server.post(config_maps(namespace), {"metadata": {"name": "x"}}).expect(201)
    uid = server.get(config_maps(namespace, "x")).json["metadata"]["uid"]
    body["metadata"]["ownerReferences"] = [owner(uid, "x")]
    server.post(config_maps(namespace), body).expect(201)
    patch = {"metadata": {"ownerReferences": [owner(uid, "x") | {"controller": True}]}}
    after = server.patch(config_maps(namespace, "a"), patch, STRATEGIC).expect(200).json
    assert after["metadata"]["ownerReferences"] == [
        owner(uid, "x") | {"controller": True}
    ]


def test_patching_what_is_not_there_is_not_found(server: Server, namespace: str):
    path = widgets(namespace, "nobody")
    refusal = server.patch(path, {"spec": {}}).refused(404, "NotFound")
    assert refusal["message"] == ('widgets.contract.example.com "nobody" not found')
    assert refusal["details"]["name"] == "nobody"


def test_a_patch_that_is_no_json_is_a_bad_request(server: Server, path: str):
    server.patch(path, b"{nonsense").refused(400, "BadRequest")


def test_a_patch_that_breaks_the_schema_is_invalid(server: Server, path: str):
    answer = server.patch(path, {"spec": {"size": 101}})
    assert answer.refused(422, "Invalid")["details"]["kind"] == "Widget"
    assert answer.causes[0]["field"] == "spec.size"


def test_a_dry_run_patch_stores_nothing(server: Server, path: str):
    before = server.get(path).json
    answer = server.patch(path, {"spec": {"size": 7}}, dryRun="All").expect(200)
    assert answer.json["spec"]["size"] == 7
    assert server.get(path).json == before
