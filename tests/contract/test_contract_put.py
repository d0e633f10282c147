"""PUT: optimistic concurrency, identity, and the status subresource."""

from contractclient import Server, config_maps, widget, widgets


def test_a_stale_version_is_a_conflict(server: Server, namespace: str):
    made = server.post(widgets(namespace), widget("a")).expect(201).json
    server.patch(widgets(namespace, "a"), {"spec": {"size": 2}}).expect(200)
    refusal = server.put(widgets(namespace, "a"), made).refused(409, "Conflict")
    details = {"name": "a", "group": "contract.example.com", "kind": "widgets"}
    assert refusal["details"] == details
    assert refusal["message"] == (
        'Operation cannot be fulfilled on widgets.contract.example.com "a": the object '
        "has been modified; please apply your changes to the latest version and try "
        "again"
    )


def test_a_custom_resource_without_a_version_is_invalid(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a")).expect(201)
    answer = server.put(widgets(namespace, "a"), widget("a", size=2))
    refusal = answer.refused(422, "Invalid")
    assert refusal["details"]["kind"] == "widgets"
    assert answer.causes == [
        {
            "reason": "FieldValueInvalid",
            "message": "Invalid value: 0: must be specified for an update",
            "field": "metadata.resourceVersion",
        }
    ]


def test_a_built_in_without_a_version_is_replaced(server: Server, namespace: str):
    body = {"metadata": {"name": "a"}, "data": {"a": "b"}}
    server.post(config_maps(namespace), body).expect(201)
    body["data"] = {"c": "d"}
    replaced = server.put(config_maps(namespace, "a"), body).expect(200).json
    assert replaced["data"] == {"c": "d"}


def test_putting_what_is_not_there_is_not_found(server: Server, namespace: str):
    body = widget("a")
    body["metadata"]["resourceVersion"] = "1"
    answer = server.put(widgets(namespace, "a"), body)
    assert answer.refused(404, "NotFound")["details"]["kind"] == "widgets"


def test_another_name_than_the_urls_is_a_bad_request(server: Server, namespace: str):
    made = server.post(widgets(namespace), widget("a")).expect(201).json
    made["metadata"]["name"] = "b"
    refusal = server.put(widgets(namespace, "a"), made).refused(400, "BadRequest")
    assert refusal["message"] == (
        "the name of the object (b) does not match the name on the URL (a)"
    )


def test_another_namespace_than_the_urls_is_a_bad_request(
    server: Server, namespace: str
):
    made = server.post(widgets(namespace), widget("a")).expect(201).json
    made["metadata"]["namespace"] = "other"
    refusal = server.put(widgets(namespace, "a"), made).refused(400, "BadRequest")
    assert refusal["message"] == (
        "the namespace of the provided object does not match the namespace sent on "
        "the request"
    )


def test_another_uid_is_a_conflict(server: Server, namespace: str):
    made = server.post(widgets(namespace), widget("a")).expect(201).json
    made["metadata"]["uid"] = "8f0c7c5e-0000-4000-8000-000000000000"
    refusal = server.put(widgets(namespace, "a"), made).refused(409, "Conflict")
    assert "Precondition failed: UID in precondition" in refusal["message"]


def test_what_the_server_owns_survives_a_put(server: Server, namespace: str):
    made = server.post(widgets(namespace), widget("a")).expect(201).json
    body = widget("a", size=3)
    body["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
    meta = server.put(widgets(namespace, "a"), body).expect(200).json["metadata"]
    for name in ("uid", "creationTimestamp", "namespace"):
        assert meta[name] == made["metadata"][name]
    assert meta["generation"] == 2


def test_a_put_drops_what_it_leaves_out(server: Server, namespace: str):
    body = widget("a", size=3, color="red")
    body["metadata"]["labels"] = {"a": "b"}
    made = server.post(widgets(namespace), body).expect(201).json
    del made["spec"]["color"], made["metadata"]["labels"]
    after = server.put(widgets(namespace, "a"), made).expect(200).json
    assert "color" not in after["spec"]
    assert "labels" not in after["metadata"]


def test_a_put_with_the_wrong_kind_is_invalid(server: Server, namespace: str):
    made = server.post(widgets(namespace), widget("a")).expect(201).json
    made["kind"] = "Gadget"
    answer = server.put(widgets(namespace, "a"), made)
    assert answer.refused(422, "Invalid")["details"]["kind"] == "Gadget"


def test_a_put_to_the_collection_has_no_name(server: Server, namespace: str):
    refusal = server.put(widgets(namespace), widget("a")).refused(400, "BadRequest")
    assert refusal["message"] == "name must be provided"
    body = {"metadata": {"name": "a"}}
    server.put(config_maps(namespace), body).refused(405, "MethodNotAllowed")


def test_status_is_dropped_on_create(server: Server, namespace: str):
    body = {**widget("a"), "status": {"ready": True}}
    assert "status" not in server.post(widgets(namespace), body).expect(201).json


def test_the_main_endpoint_does_not_write_status(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a")).expect(201)
    path = widgets(namespace, "a")
    stated = server.patch(f"{path}/status", {"status": {"a": 1}}).expect(200).json
    stated["status"] = {"a": 2}
    stated["spec"]["size"] = 9
    after = server.put(path, stated).expect(200).json
    assert (after["status"], after["spec"]["size"]) == ({"a": 1}, 9)
    patched = server.patch(path, {"status": {"a": 3}}).expect(200).json
    assert patched["status"] == {"a": 1}


def test_the_status_endpoint_writes_status_alone(server: Server, namespace: str):
    made = server.post(widgets(namespace), widget("a")).expect(201).json
    made["spec"]["size"] = 9
    made["metadata"]["labels"] = {"a": "b"}
    made["status"] = {"a": 1}
    path = widgets(namespace, "a", "status")
    after = server.put(path, made).expect(200).json
    assert after["status"] == {"a": 1}
    assert after["spec"]["size"] == 1
    assert "labels" not in after["metadata"]
    patched = server.patch(path, {"spec": {"size": 9}, "status": {"a": 2}})
    assert patched.expect(200).json["spec"]["size"] == 1
    assert patched.json["status"] == {"a": 2}


def test_status_and_spec_share_one_version(server: Server, namespace: str):
    made = server.post(widgets(namespace), widget("a")).expect(201).json
    server.patch(widgets(namespace, "a"), {"spec": {"size": 2}}).expect(200)
    stale = {**made, "status": {"a": 1}}
    path = widgets(namespace, "a", "status")
    server.put(path, stale).refused(409, "Conflict")
    server.patch(path, {"metadata": made["metadata"], "status": {}}).expect(409)


def test_status_is_read_by_its_own_path(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a")).expect(201)
    got = server.get(widgets(namespace, "a", "status")).expect(200).json
    assert got["kind"] == "Widget"


def test_a_subresource_that_a_kind_lacks_is_not_found(server: Server, namespace: str):
    server.post(config_maps(namespace), {"metadata": {"name": "a"}}).expect(201)
    server.get(f"{config_maps(namespace, 'a')}/status").expect(404)
