"""POST: names, namespaces, refusals and dry runs."""

import pytest
from contractclient import Server, config_maps, widget, widgets


def test_a_second_create_already_exists(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a")).expect(201)
    answer = server.post(widgets(namespace), widget("a"))
    refusal = answer.refused(409, "AlreadyExists")
    assert refusal["details"] == {
        "name": "a",
        "group": "contract.example.com",
        "kind": "widgets",
    }
    assert refusal["message"] == 'widgets.contract.example.com "a" already exists'


def test_a_second_create_of_a_built_in_already_exists(server: Server, namespace: str):
    body = {"metadata": {"name": "a"}}
    server.post(config_maps(namespace), body).expect(201)
    refusal = server.post(config_maps(namespace), body).refused(409, "AlreadyExists")
    assert refusal["details"] == {"name": "a", "kind": "configmaps"}


def test_a_generated_name_has_five_more_characters(server: Server, namespace: str):
    body = widget()
    body["metadata"] = {"generateName": "made-"}
    names = [
        server.post(widgets(namespace), body).expect(201).json["metadata"]["name"]
        for _ in range(3)
    ]
    assert len(set(names)) == 3
    assert all(n.startswith("made-") and len(n) == len("made-") + 5 for n in names)


def test_no_name_is_invalid(server: Server, namespace: str):
    body = widget()
    body["metadata"] = {}
    answer = server.post(widgets(namespace), body)
    answer.refused(422, "Invalid")
    assert answer.causes == [
        {
            "reason": "FieldValueRequired",
            "message": "Required value: name or generateName is required",
            "field": "metadata.name",
        }
    ]


@pytest.mark.parametrize("name", ["Upper", "under_score", "-dash", "dot.", "a" * 254])
def test_bad_names_are_invalid(server: Server, namespace: str, name: str):
    answer = server.post(widgets(namespace), widget(name))
    assert answer.refused(422, "Invalid")["details"]["kind"] == "Widget"
    assert answer.causes[0]["field"] == "metadata.name"
    assert answer.causes[0]["reason"] == "FieldValueInvalid"


def test_a_missing_namespace_is_not_found(server: Server):
    answer = server.post(widgets("nowhere"), widget("a"))
    refusal = answer.refused(404, "NotFound")
    assert refusal["message"] == 'namespaces "nowhere" not found'
    assert refusal["details"] == {"name": "nowhere", "kind": "namespaces"}


def test_a_terminating_namespace_is_forbidden(server: Server):
    with server.namespace() as name:
        held = widget("held")
        held["metadata"]["finalizers"] = ["example.com/hold"]
        server.post(widgets(name), held).expect(201)
        server.delete(f"/api/v1/namespaces/{name}").expect(200)
        try:
            answer = server.post(widgets(name), widget("b"))
            refusal = answer.refused(403, "Forbidden")
            assert answer.causes == [
                {
                    "reason": "NamespaceTerminating",
                    "message": f"namespace {name} is being terminated",
                    "field": "metadata.namespace",
                }
            ]
            assert refusal["details"]["kind"] == "widgets"
            assert refusal["message"] == (
                f'widgets.contract.example.com "b" is forbidden: unable to create new '
                f"content in namespace {name} because it is being terminated"
            )
        finally:
            server.patch(widgets(name, "held"), {"metadata": {"finalizers": None}})


def test_another_namespace_than_the_urls_is_a_bad_request(
    server: Server, namespace: str
):
    body = widget("a")
    body["metadata"]["namespace"] = "other"
    server.post(widgets(namespace), body).refused(400, "BadRequest")


def test_the_wrong_kind_is_invalid(server: Server, namespace: str):
    answer = server.post(widgets(namespace), {**widget("a"), "kind": "Gadget"})
    # The kind the body states, not the resource's.
    assert answer.refused(422, "Invalid")["details"]["kind"] == "Gadget"
    assert answer.causes[0]["field"] == "kind"
    assert answer.causes[0]["message"] == 'Invalid value: "Gadget": must be Widget'


def test_the_wrong_kind_of_a_built_in_is_a_bad_request(server: Server, namespace: str):
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}
    server.post(config_maps(namespace), body).refused(400, "BadRequest")


def test_the_wrong_version_is_a_bad_request(server: Server, namespace: str):
    body = {**widget("a"), "apiVersion": "contract.example.com/v9"}
    refusal = server.post(widgets(namespace), body).refused(400, "BadRequest")
    assert refusal["message"] == (
        "the API version in the data (contract.example.com/v9) does not match the "
        "expected API version (contract.example.com/v1)"
    )


def test_a_custom_resource_states_its_kind(server: Server, namespace: str):
    body = widget("a")
    del body["kind"], body["apiVersion"]
    server.post(widgets(namespace), body).refused(400, "BadRequest")


def test_a_built_in_may_leave_its_kind_out(server: Server, namespace: str):
    made = server.post(config_maps(namespace), {"metadata": {"name": "a"}})
    assert made.expect(201).json["kind"] == "ConfigMap"


def test_a_dry_run_answers_201_and_stores_nothing(server: Server, namespace: str):
    made = server.post(widgets(namespace), widget("a"), dryRun="All").expect(201).json
    assert made["metadata"]["uid"]
    assert "resourceVersion" not in made["metadata"]
    server.get(widgets(namespace, "a")).refused(404, "NotFound")


def test_another_dry_run_is_invalid(server: Server, namespace: str):
    answer = server.post(widgets(namespace), widget("a"), dryRun="Some")
    answer.refused(422, "Invalid")
    assert answer.causes[0]["field"] == "dryRun"


def test_a_post_to_an_object_that_exists_says_so(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a")).expect(201)
    answer = server.post(widgets(namespace, "a"), widget("a"))
    answer.refused(409, "AlreadyExists")


def test_finalizers_without_a_domain_are_warned_about(server: Server, namespace: str):
    body = widget("a")
    body["metadata"]["finalizers"] = ["plain.name"]
    answer = server.post(widgets(namespace), body)
    assert answer.expect(201).headers["Warning"].startswith('299 - "')
    assert "finalizer" in answer.headers["Warning"]
    server.patch(widgets(namespace, "a"), {"metadata": {"finalizers": None}})


def test_a_body_that_is_no_json_is_a_bad_request(server: Server, namespace: str):
    server.call("POST", widgets(namespace), b"{nonsense").refused(400, "BadRequest")


def test_no_body_is_a_bad_request(server: Server, namespace: str):
    server.call("POST", widgets(namespace), b"").refused(400, "BadRequest")


def test_a_list_for_a_body_is_a_bad_request(server: Server, namespace: str):
    server.post(widgets(namespace), [1]).refused(400, "BadRequest")


def test_a_body_of_another_sort_is_unsupported(server: Server, namespace: str):
    answer = server.call("POST", widgets(namespace), b"a=b", sort="text/plain")
    answer.refused(415, "UnsupportedMediaType")


def test_yaml_bodies_are_taken(server: Server, namespace: str):
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"
    made = server.call("POST", config_maps(namespace), text, sort="application/yaml")
    assert made.expect(201).json["data"] == {"k": "v"}


def test_labels_must_be_strings(server: Server, namespace: str):
    body = widget("a")
    body["metadata"]["labels"] = {"a": 1}
    server.post(widgets(namespace), body).refused(400, "BadRequest")


@pytest.mark.parametrize(
    ("key", "value"),
    [("a b", "x"), ("a", "x y"), ("a", "x" * 64), ("/a", "x"), ("UP.er/", "x")],
    ids=["key", "value", "long value", "no prefix", "no name"],
)
def test_bad_labels_are_invalid(server: Server, namespace: str, key: str, value: str):
    body = widget("a")
    body["metadata"]["labels"] = {key: value}
    answer = server.post(widgets(namespace), body)
    answer.refused(422, "Invalid")
    assert answer.causes[0]["field"] == "metadata.labels"
