"""Server-side apply: ownership of fields, conflicts, and fields that a manager
drops.
"""

import json

import pytest
from contractclient import (
    APPLY,
    GROUP,
    JSON_PATCH,
    MERGE,
    Json,
    Server,
    config_maps,
    widget,
    widgets,
)


def config_map(name: str, **data: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": data,
    }


def managed(obj: Json, manager: str) -> Json:
    """Return the fields that a manager owns."""
    entries = obj["metadata"]["managedFields"]
    return next(e for e in entries if e["manager"] == manager)


def test_apply_creates_with_201_then_answers_200(server: Server, namespace: str):
    path = widgets(namespace, "a")
    made = server.apply(path, widget("a", size=2), "me").expect(201).json
    assert made["metadata"]["generation"] == 1
    server.apply(path, widget("a", size=3), "me").expect(200)


def test_apply_takes_yaml(server: Server, namespace: str):
    text = (
        f"apiVersion: {GROUP}/v1\nkind: Widget\nmetadata:\n  name: a\n"
        "spec:\n  size: 4\n"
    )
    path = widgets(namespace, "a")
    answer = server.patch(path, text.encode(), APPLY, fieldManager="me").expect(201)
    assert answer.json["spec"]["size"] == 4


def test_apply_needs_a_manager(server: Server, namespace: str):
    path = widgets(namespace, "a")
    answer = server.patch(path, widget("a"), APPLY)
    assert answer.refused(422, "Invalid")["details"]["kind"] == "PatchOptions"
    assert answer.causes[0]["field"] == "fieldManager"


def test_force_is_for_apply_alone(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a")).expect(201)
    answer = server.patch(widgets(namespace, "a"), {"spec": {}}, force="true")
    assert answer.refused(422, "Invalid")["details"]["kind"] == "PatchOptions"


def test_owned_fields_are_listed(server: Server, namespace: str):
    made = server.apply(widgets(namespace, "a"), widget("a", size=2), "me")
    entry = managed(made.expect(201).json, "me")
    assert entry["operation"] == "Apply"
    assert entry["apiVersion"] == f"{GROUP}/v1"
    assert entry["fieldsType"] == "FieldsV1"
    assert entry["fieldsV1"] == {"f:spec": {"f:size": {}}}
    assert entry["time"]


def test_updates_are_listed_with_their_manager(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a", size=2), fieldManager="maker")
    path = widgets(namespace, "a")
    after = server.patch(path, {"spec": {"color": "red"}}, fieldManager="painter")
    made = managed(after.expect(200).json, "maker")
    assert made["operation"] == "Update"
    assert made["fieldsV1"] == {"f:spec": {".": {}, "f:size": {}}}
    painted = managed(after.json, "painter")
    assert painted["fieldsV1"] == {"f:spec": {"f:color": {}}}


def test_status_is_owned_apart(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a"), fieldManager="me").expect(201)
    path = widgets(namespace, "a", "status")
    after = server.patch(path, {"status": {"ok": 1}}, fieldManager="me").expect(200)
    entries = after.json["metadata"]["managedFields"]
    parts = [(e["manager"], e.get("subresource")) for e in entries]
    assert sorted(parts, key=str) == [("me", "status"), ("me", None)]


def test_another_value_for_anothers_field_is_a_conflict(server: Server, namespace: str):
    path = widgets(namespace, "a")
    server.apply(path, widget("a", size=2), "first").expect(201)
    answer = server.apply(path, widget("a", size=3), "second")
    answer.refused(409, "Conflict")
    assert answer.causes == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "first"',
            "field": ".spec.size",
        }
    ]
    assert answer.json["message"] == (
        'Apply failed with 1 conflict: conflict with "first": .spec.size'
    )
    assert server.get(path).json["spec"]["size"] == 2


@pytest.mark.parametrize("stated", [{}, {"metadata": None}, {"metadata": {}}])
@pytest.mark.parametrize("custom", [False, True], ids=["built-in", "custom"])
def test_a_body_without_metadata_has_conflicts_and_keeps_owners(
    server: Server, namespace: str, custom: bool, stated: Json
):
    if custom:
        path, begun = widgets(namespace, "a"), widget("a", size=1)
        body = {k: v for k, v in widget("a", size=2).items() if k != "metadata"}
    else:
        path, begun = config_maps(namespace, "a"), config_map("a", size="1")
        body = {k: v for k, v in config_map("a", size="2").items() if k != "metadata"}
    field = ".spec.size" if custom else ".data.size"
    server.apply(path, begun, "one").expect(201)
    refused = server.apply(path, body | stated, "two").refused(409, "Conflict")
    causes = refused["details"]["causes"]
    assert [(c["field"], c["message"]) for c in causes] == [
        (field, 'conflict with "one"')
    ]
    taken = server.apply(path, body | stated, "two", force="true").expect(200).json
    (owner,) = taken["metadata"]["managedFields"]
    assert (owner["manager"], owner["operation"]) == ("two", "Apply")


@pytest.mark.parametrize("stated", [{}, {"metadata": None}, {"metadata": {}}])
@pytest.mark.parametrize("custom", [False, True], ids=["built-in", "custom"])
def test_an_apply_that_creates_states_the_name(
    server: Server, namespace: str, custom: bool, stated: Json
):
    path = widgets(namespace, "a") if custom else config_maps(namespace, "a")
    body = {"apiVersion": "v1", "kind": "ConfigMap"}
    if custom:
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Widget"}
    document = server.apply(path, body | stated, "one").refused(400, "BadRequest")
    assert document["message"] == (
        "the name of the object (a based on URL) was undeterminable: "
        "name must be provided"
    )
    assert server.get(path).status == 404


def test_a_conflict_with_an_update_says_so(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a", size=2), fieldManager="hand")
    answer = server.apply(widgets(namespace, "a"), widget("a", size=3), "me")
    answer.refused(409, "Conflict")
    assert answer.causes[0]["message"].startswith(f'conflict with "hand" using {GROUP}')


def test_the_same_value_is_shared(server: Server, namespace: str):
    path = widgets(namespace, "a")
    server.apply(path, widget("a", size=2), "first").expect(201)
    after = server.apply(path, widget("a", size=2), "second").expect(200).json
    owned = {"f:spec": {"f:size": {}}}
    assert managed(after, "first")["fieldsV1"] == owned
    assert managed(after, "second")["fieldsV1"] == owned


def test_force_takes_over(server: Server, namespace: str):
    path = widgets(namespace, "a")
    server.apply(path, widget("a", size=2), "first").expect(201)
    after = server.apply(path, widget("a", size=3), "second", force="true").expect(200)
    assert after.json["spec"]["size"] == 3
    managers = [e["manager"] for e in after.json["metadata"]["managedFields"]]
    assert managers == ["second"]


def test_a_dropped_field_goes(server: Server, namespace: str):
    path = widgets(namespace, "a")
    server.apply(path, widget("a", size=2, color="red"), "me").expect(201)
    after = server.apply(path, widget("a", size=2), "me").expect(200).json
    assert after["spec"] == {"size": 2}


def test_a_dropped_field_with_a_default_gets_it(server: Server, namespace: str):
    path = widgets(namespace, "a")
    server.apply(path, widget("a", size=2, color="red"), "me").expect(201)
    after = server.apply(path, widget("a", color="red"), "me").expect(200).json
    assert after["spec"] == {"size": 1, "color": "red"}


def test_a_dropped_field_that_another_owns_stays(server: Server, namespace: str):
    path = widgets(namespace, "a")
    server.apply(path, widget("a", size=2, color="red"), "first").expect(201)
    server.apply(path, widget("a", color="red"), "second").expect(200)
    after = server.apply(path, widget("a", size=2), "first").expect(200).json
    assert after["spec"] == {"size": 2, "color": "red"}


def test_others_fields_are_left_alone(server: Server, namespace: str):
    path = widgets(namespace, "a")
    server.post(widgets(namespace), widget("a", size=2, color="red")).expect(201)
    after = server.apply(path, widget("a", mode="fast"), "me").expect(200).json
    assert after["spec"] == {"size": 2, "color": "red", "mode": "fast"}


def test_items_of_a_keyed_list_have_owners_of_their_own(server: Server, namespace: str):
    path = widgets(namespace, "a")
    one, two = {"name": "one", "value": "1"}, {"name": "two", "value": "2"}
    server.apply(path, widget("a", entries=[one]), "first").expect(201)
    after = server.apply(path, widget("a", entries=[two]), "second").expect(200).json
    assert after["spec"]["entries"] == [one, two]
    key = json.dumps({"name": "one"}, separators=(",", ":"))
    assert managed(after, "first")["fieldsV1"]["f:spec"]["f:entries"] == {
        f"k:{key}": {".": {}, "f:name": {}, "f:value": {}}
    }
    changed = {"name": "one", "value": "9"}
    conflict = server.apply(path, widget("a", entries=[two, changed]), "second")
    conflict.refused(409, "Conflict")
    assert conflict.causes[0]["field"] == '.spec.entries[name="one"].value'
    dropped = server.apply(path, widget("a", size=1), "first").expect(200).json
    assert dropped["spec"]["entries"] == [two]


def test_items_of_a_set_have_owners_of_their_own(server: Server, namespace: str):
    path = widgets(namespace, "a")
    server.apply(path, widget("a", tags=["x", "y"]), "first").expect(201)
    after = server.apply(path, widget("a", tags=["y", "z"]), "second").expect(200).json
    assert after["spec"]["tags"] == ["x", "y", "z"]
    assert managed(after, "second")["fieldsV1"]["f:spec"]["f:tags"] == {
        'v:"y"': {},
        'v:"z"': {},
    }
    after = server.apply(path, widget("a", tags=["x"]), "first").expect(200).json
    assert sorted(after["spec"]["tags"]) == ["x", "y", "z"]


def test_other_lists_are_owned_whole(server: Server, namespace: str):
    path = widgets(namespace, "a")
    server.apply(path, widget("a", steps=["x", "y"]), "first").expect(201)
    conflict = server.apply(path, widget("a", steps=["z"]), "second")
    conflict.refused(409, "Conflict")
    assert conflict.causes[0]["field"] == ".spec.steps"
    after = server.apply(path, widget("a", steps=["z"]), "first").expect(200).json
    assert after["spec"]["steps"] == ["z"]


def test_finalizers_are_a_set(server: Server, namespace: str):
    path = config_maps(namespace, "a")

    def held(name: str) -> Json:
        body = config_map("a")
        del body["data"]
        body["metadata"]["finalizers"] = [f"example.com/{name}"]
        return body

    server.apply(path, held("one"), "first").expect(201)
    after = server.apply(path, held("two"), "second").expect(200).json
    names = ["example.com/one", "example.com/two"]
    assert after["metadata"]["finalizers"] == names
    server.patch(path, {"metadata": {"finalizers": None}}).expect(200)


def test_annotations_and_labels_are_owned_one_by_one(server: Server, namespace: str):
    path = config_maps(namespace, "a")
    first, second = config_map("a", x="1"), config_map("a", y="2")
    first["metadata"]["labels"] = {"one": "1"}
    second["metadata"]["labels"] = {"two": "2"}
    server.apply(path, first, "first").expect(201)
    after = server.apply(path, second, "second").expect(200).json
    assert after["metadata"]["labels"] == {"one": "1", "two": "2"}
    assert after["data"] == {"x": "1", "y": "2"}
    assert managed(after, "second")["fieldsV1"] == {
        "f:data": {"f:y": {}},
        "f:metadata": {"f:labels": {"f:two": {}}},
    }


def test_managed_fields_cannot_be_applied(server: Server, namespace: str):
    body = widget("a")
    body["metadata"]["managedFields"] = [{"manager": "x"}]
    answer = server.apply(widgets(namespace, "a"), body, "me")
    answer.refused(400, "BadRequest")
    assert "metadata.managedFields must be nil" in answer.json["message"]


def test_a_version_in_an_apply_is_a_precondition(server: Server, namespace: str):
    path = widgets(namespace, "a")
    made = server.apply(path, widget("a", size=2), "me").expect(201)
    server.apply(path, widget("a", size=3), "me").expect(200)
    stale = widget("a", size=4)
    stale["metadata"]["resourceVersion"] = made.rv
    server.apply(path, stale, "me").refused(409, "Conflict")


def test_apply_of_status(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a")).expect(201)
    body = widget("a")
    del body["spec"]
    body["status"] = {"phase": "done"}
    path = widgets(namespace, "a", "status")
    after = server.apply(path, body, "me").expect(200).json
    assert after["status"] == {"phase": "done"}
    assert managed(after, "me")["subresource"] == "status"
    assert managed(after, "me")["fieldsV1"] == {"f:status": {"f:phase": {}}}


def test_an_applied_body_names_its_kind(server: Server, namespace: str):
    body = widget("a")
    del body["kind"]
    answer = server.apply(widgets(namespace, "a"), body, "me")
    answer.refused(400, "BadRequest")


def test_applying_to_a_missing_namespace_is_not_found(server: Server):
    answer = server.apply(widgets("nowhere", "a"), widget("a"), "me")
    assert answer.refused(404, "NotFound")["details"]["kind"] == "namespaces"


@pytest.mark.parametrize("sort", [MERGE, JSON_PATCH])
def test_a_client_may_say_who_owns_what(server, namespace, sort):
    """A client writes managedFields as kubectl does when it takes over fields from its
    client-side apply.
    """
    path = config_maps(namespace, "one")
    body = {"metadata": {"name": "one"}, "data": {"a": "b", "c": "d"}}
    made = server.post(config_maps(namespace), body, fieldManager="old").expect(201)
    (entry,) = made.json["metadata"]["managedFields"]
    owned = [entry | {"manager": "new", "operation": "Apply"}]
    if sort == MERGE:
        change = {"metadata": {"managedFields": owned}}
    else:
        change = [{"op": "replace", "path": "/metadata/managedFields", "value": owned}]
    server.patch(path, change, sort, fieldManager="other").expect(200)
    found = server.get(path).json["metadata"]["managedFields"]
    assert [(e["manager"], e["operation"]) for e in found] == [("new", "Apply")]
    stated = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "x"}}
    server.apply(path, stated, "new").expect(200)
    assert server.get(path).json["data"] == {"a": "x"}


def test_owners_that_cannot_be_read_are_not_taken(server, namespace):
    path = config_maps(namespace, "one")
    body = {"metadata": {"name": "one"}, "data": {"a": "b"}}
    made = server.post(config_maps(namespace), body, fieldManager="old").expect(201)
    (entry,) = made.json["metadata"]["managedFields"]
    change = {"metadata": {"managedFields": [entry | {"operation": "Guess"}]}}
    server.patch(path, change, fieldManager="other")
    (found,) = server.get(path).json["metadata"]["managedFields"]
    assert (found["manager"], found["operation"]) == ("old", "Update")


def test_kubectls_note_of_what_was_applied_follows_its_server_side_apply(
    server, namespace
):
    note = "kubectl.kubernetes.io/last-applied-configuration"
    path = config_maps(namespace, "one")
    meta = {"name": "one", "annotations": {note: "{}"}}
    server.post(config_maps(namespace), {"metadata": meta}).expect(201)
    stated = config_map("one", a="b")
    server.apply(path, stated, "other").expect(200)
    assert server.get(path).json["metadata"]["annotations"] == {note: "{}"}
    applied = server.apply(path, stated, "kubectl", force="true").expect(200).json
    noted = applied["metadata"]["annotations"][note]
    assert noted.endswith("\n")
    assert json.loads(noted) == stated


def deployment(image: str, **pod: object) -> Json:
    container = {
        "name": "main",
        "image": image,
        "env": [
            {"name": "A", "value": "1"},
            {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ],
        "ports": [{"containerPort": 80}],
        "volumeMounts": [{"name": "scratch", "mountPath": "/tmp"}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": {
            "selector": {"matchLabels": {"app": "a"}},
            "template": {
                "metadata": {"labels": {"app": "a"}},
                "spec": {
                    "containers": [container],
                    "volumes": [{"name": "scratch", "emptyDir": {}}],
                    **pod,
                },
            },
        },
    }


def test_a_container_s_fields_are_owned_one_by_one(server: Server, namespace: str):
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/a"
    made = server.apply(path, deployment("one:1"), "me").expect(201).json
    pod = managed(made, "me")["fieldsV1"]["f:spec"]["f:template"]["f:spec"]
    assert pod == {
        "f:containers": {
            'k:{"name":"main"}': {
                ".": {},
                "f:name": {},
                "f:image": {},
                "f:env": {
                    'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}},
                    'k:{"name":"B"}': {
                        ".": {},
                        "f:name": {},
                        "f:valueFrom": {"f:secretKeyRef": {}},
                    },
                },
                "f:ports": {
                    'k:{"containerPort":80,"protocol":"TCP"}': {
                        ".": {},
                        "f:containerPort": {},
                    }
                },
                "f:volumeMounts": {
                    'k:{"mountPath":"/tmp"}': {
                        ".": {},
                        "f:mountPath": {},
                        "f:name": {},
                    }
                },
            }
        },
        "f:volumes": {
            'k:{"name":"scratch"}': {".": {}, "f:emptyDir": {}, "f:name": {}}
        },
    }
    change = {"name": "main", "image": "two:1"}
    patch = {"spec": {"template": {"spec": {"containers": [change]}}}}
    strategic = "application/strategic-merge-patch+json"
    server.patch(path, patch, strategic, fieldManager="hand").expect(200)
    refused = server.apply(path, deployment("one:1"), "me").refused(409, "Conflict")
    (cause,) = refused["details"]["causes"]
    assert cause["field"] == '.spec.template.spec.containers[name="main"].image'
    assert cause["message"] == 'conflict with "hand" using apps/v1'
    server.apply(path, deployment("two:1"), "me").expect(200)
    sidecar = {"name": "beside", "image": "side:1"}
    other = deployment("two:1")
    other["spec"]["template"]["spec"] = {"containers": [sidecar]}
    both = server.apply(path, other, "other").expect(200).json
    names = [c["name"] for c in both["spec"]["template"]["spec"]["containers"]]
    assert names == ["main", "beside"]


def test_a_webhook_s_fields_are_owned_one_by_one(server: Server, namespace: str):
    base = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    path = f"{base}/{namespace}"
    webhook = {
        "name": "one.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"url": "https://127.0.0.1:1/none"},
        "namespaceSelector": {"matchLabels": {"nobody": "has"}},
        "matchConditions": [{"name": "never", "expression": "false"}],
        "failurePolicy": "Ignore",
    }
    wanted = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": namespace},
        "webhooks": [webhook],
    }
    try:
        server.apply(path, wanted, "me").expect(201)
        bundle = {"path": "/webhooks/0/clientConfig/caBundle", "value": "Y2E="}
        patch = [{"op": "add", **bundle}]
        told = server.patch(path, patch, JSON_PATCH, fieldManager="teller").json
        owned = managed(told, "teller")["fieldsV1"]["f:webhooks"]
        assert owned == {
            'k:{"name":"one.example.com"}': {"f:clientConfig": {"f:caBundle": {}}}
        }
        (mine,) = managed(told, "me")["fieldsV1"]["f:webhooks"].values()
        assert mine["f:namespaceSelector"] == {}
        assert list(mine["f:matchConditions"]) == ['k:{"name":"never"}']
        kept = server.apply(path, wanted, "me").expect(200).json
        assert kept["webhooks"][0]["clientConfig"]["caBundle"] == "Y2E="
    finally:
        server.delete(path)
