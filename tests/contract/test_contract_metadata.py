"""Metadata that a write may not contain, and the interpretation of requests."""

import pytest
from contractclient import MERGE, config_maps, widget, widgets

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.fixture(params=[config_maps, widgets])
def path(request, server, namespace):
    """One object, of a built-in kind and of a CRD's."""
    if request.param is widgets:
        server.post(widgets(namespace), widget("one")).expect(201)
    else:
        server.post(config_maps(namespace), {"metadata": {"name": "one"}}).expect(201)
    return request.param(namespace, "one")


def test_nobody_says_when_an_object_was_deleted(server, path):
    when = "2020-01-01T00:00:00Z"
    answer = server.patch(path, {"metadata": {"deletionTimestamp": when}})
    answer.refused(422, "Invalid")
    assert answer.causes[0] == {
        "reason": "FieldValueInvalid",
        "message": f'Invalid value: "{when}": field is immutable',
        "field": "metadata.deletionTimestamp",
    }


def test_a_uid_stays(server, path):
    answer = server.patch(path, {"metadata": {"uid": "x"}})
    message = answer.refused(422, "Invalid")["message"]
    assert message.endswith(
        ' "one" is invalid: metadata.uid: Invalid value: "x": field is immutable'
    )
    assert len(answer.causes) == 2


def test_a_patch_that_makes_an_object_unreadable_is_invalid(server, path):
    answer = server.patch(path, {"metadata": {"labels": {"a": 1}}}, MERGE)
    message = answer.refused(422, "Invalid")["message"]
    assert message.startswith(' "" is invalid: patch: Invalid value: "{')
    assert [cause["field"] for cause in answer.causes] == ["patch"]
    assert "json: cannot unmarshal number into Go" in message


def test_built_in_kinds_take_no_finalizer_without_a_domain(server, namespace):
    body = {"metadata": {"name": "one", "finalizers": ["mine"]}}
    answer = server.post(config_maps(namespace), body)
    answer.refused(422, "Invalid")
    assert answer.causes == [
        {
            "reason": "FieldValueInvalid",
            "message": (
                'Invalid value: "mine": name is neither a standard finalizer name nor '
                "is it fully qualified"
            ),
            "field": "metadata.finalizers[0]",
        }
    ]
    made = widget("one")
    made["metadata"]["finalizers"] = ["mine"]
    server.post(widgets(namespace), made).expect(201)
    path = widgets(namespace, "one")
    server.patch(path, {"metadata": {"finalizers": None}}).expect(200)


@pytest.mark.parametrize("accept", [TABLE.replace("Table", "Nope"), "text/html"])
def test_a_form_that_there_is_not_is_not_acceptable(server, path, accept):
    assert server.call("GET", path, headers={"Accept": accept}).status == 406
    both = {"Accept": f"{accept},application/json"}
    server.call("GET", path, headers=both).expect(200)


@pytest.mark.parametrize(
    ("stated", "watches"),
    [("yes", True), ("0", False), ("False", False)],
)
def test_all_but_false_and_zero_is_true(server, namespace, stated, watches):
    server.post(config_maps(namespace), {"metadata": {"name": "one"}}).expect(201)
    answer = server.get(config_maps(namespace), watch=stated, timeoutSeconds=1)
    first = answer.expect(200).text.partition("\n")[0]
    assert ('"type":"ADDED"' in first) is watches
