"""The effects of a CRD's schema on objects: defaults, pruning, and refusals by
field.
"""

import json
from typing import Any

import pytest
from contractclient import Json, Server, widget, widgets


def make(server: Server, namespace: str, **spec: Any) -> Json:
    return server.post(widgets(namespace), widget("a", **spec)).expect(201).json["spec"]


def test_defaults_are_filled_in(server: Server, namespace: str):
    assert make(server, namespace, color="red") == {"color": "red", "size": 1}


def test_defaults_inside_objects_that_are_there(server: Server, namespace: str):
    spec = make(server, namespace, nested={"must": "x"})
    assert spec["nested"] == {"must": "x", "level": 7}


def test_a_null_gets_the_default(server: Server, namespace: str):
    assert make(server, namespace, size=None) == {"size": 1}


def test_a_null_that_may_not_be_is_dropped(server: Server, namespace: str):
    assert make(server, namespace, color=None) == {"size": 1}


def test_a_nullable_null_is_kept(server: Server, namespace: str):
    assert make(server, namespace, maybe=None) == {"maybe": None, "size": 1}


@pytest.mark.parametrize(
    ("spec", "kept"),
    [
        ({"free": None}, {}),
        ({"free": {"a": None, "b": [None, {"c": None}]}},) * 2,
        ({"steps": None, "labels": None, "nested": None}, {}),
        ({"labels": {"a": None, "b": "c"}}, {"labels": {"b": "c"}}),
        (
            {"nested": {"must": "x", "level": None}},
            {"nested": {"must": "x", "level": 7}},
        ),
    ],
)
def test_a_null_is_dropped_only_where_the_schema_says_more(
    server: Server, namespace: str, spec: Json, kept: Json
):
    made = server.post(widgets(namespace), widget("a", **spec)).expect(201).json
    assert made["spec"] == {"size": 1, **kept}
    changed = made | widget("a", **spec, size=2) | {"metadata": made["metadata"]}
    found = server.put(widgets(namespace, "a"), changed).expect(200).json["spec"]
    assert found == {**kept, "size": 2}


def test_unknown_fields_are_pruned(server: Server, namespace: str):
    spec = make(server, namespace, size=2, other=1, nested={"must": "x", "more": 2})
    assert spec == {"size": 2, "nested": {"must": "x", "level": 7}}


def test_unknown_fields_are_warned_about(server: Server, namespace: str):
    query = {"fieldValidation": "Warn"}
    answer = server.post(widgets(namespace), widget("a", other=1), **query)
    warning = answer.expect(201).headers["Warning"]
    assert warning == r'299 - "unknown field \"spec.other\""'


def test_unknown_fields_can_be_an_error(server: Server, namespace: str):
    query = {"fieldValidation": "Strict"}
    answer = server.post(widgets(namespace), widget("a", other=1), **query)
    message = answer.refused(400, "BadRequest")["message"]
    assert 'strict decoding error: unknown field "spec.other"' in message


def test_unknown_fields_can_be_ignored(server: Server, namespace: str):
    query = {"fieldValidation": "Ignore"}
    answer = server.post(widgets(namespace), widget("a", other=1), **query)
    assert "Warning" not in answer.expect(201).headers


def test_twice_the_same_key_can_be_an_error(server: Server, namespace: str):
    text = (
        b'{"apiVersion":"contract.example.com/v1","kind":"Widget",'
        b'"metadata":{"name":"a"},"spec":{"size":1,"size":2}}'
    )
    answer = server.call("POST", widgets(namespace), text, fieldValidation="Strict")
    message = answer.refused(400, "BadRequest")["message"]
    assert 'duplicate field "spec.size"' in message
    answer = server.call("POST", widgets(namespace), text, fieldValidation="Warn")
    assert answer.expect(201).json["spec"] == {"size": 2}
    assert 'duplicate field \\"spec.size\\"' in answer.headers["Warning"]


def test_an_unknown_field_validation_is_invalid(server: Server, namespace: str):
    query = {"fieldValidation": "Sometimes"}
    answer = server.post(widgets(namespace), widget("a"), **query)
    answer.refused(422, "Invalid")
    assert answer.causes[0]["field"] == "fieldValidation"


def test_preserved_objects_are_kept_whole(server: Server, namespace: str):
    free = {"any": {"thing": [1, "2", None]}}
    assert make(server, namespace, free=free)["free"] == free


def test_int_or_string_takes_both(server: Server, namespace: str):
    assert make(server, namespace, port=80)["port"] == 80
    path = widgets(namespace, "a")
    after = server.patch(path, {"spec": {"port": "http"}}).expect(200).json
    assert after["spec"]["port"] == "http"
    server.patch(path, {"spec": {"port": True}}).refused(422, "Invalid")
    server.patch(path, {"spec": {"port": 1.5}}).refused(422, "Invalid")


@pytest.mark.parametrize(
    ("spec", "field", "reason", "message"),
    [
        (
            {"size": -1},
            "spec.size",
            "FieldValueInvalid",
            "Invalid value: -1: spec.size in body should be greater than or equal to 0",
        ),
        (
            {"size": 101},
            "spec.size",
            "FieldValueInvalid",
            "Invalid value: 101: spec.size in body should be less than or equal to 100",
        ),
        (
            {"size": "1"},
            "spec.size",
            "FieldValueTypeInvalid",
            (
                'Invalid value: "string": spec.size in body must be of type integer: '
                '"string"'
            ),
        ),
        (
            {"color": "pink"},
            "spec.color",
            "FieldValueNotSupported",
            'Unsupported value: "pink": supported values: "red", "green", "blue"',
        ),
        (
            {"mode": "UP"},
            "spec.mode",
            "FieldValueInvalid",
            "Invalid value: \"UP\": spec.mode in body should match '^[a-z]+$'",
        ),
        (
            {"mode": "abcdefghijk"},
            "spec.mode",
            "FieldValueTooLong",
            "Too long: may not be more than 10 bytes",
        ),
        (
            {"steps": ["a", "b", "c", "d"]},
            "spec.steps",
            "FieldValueTooMany",
            "Too many: 4: must have at most 3 items",
        ),
        (
            {"tags": ["a", "a"]},
            "spec.tags[1]",
            "FieldValueDuplicate",
            'Duplicate value: "a"',
        ),
        (
            {"entries": [{"name": "a"}, {"name": "a"}]},
            "spec.entries[1]",
            "FieldValueDuplicate",
            'Duplicate value: {"name":"a"}',
        ),
        (
            {"nested": {}},
            "spec.nested.must",
            "FieldValueRequired",
            "Required value",
        ),
        (
            {"labels": {"a": 1}},
            "spec.labels.a",
            "FieldValueTypeInvalid",
            (
                'Invalid value: "integer": spec.labels.a in body must be of type string: '
                '"integer"'
            ),
        ),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, dict) else "",
)
def test_what_a_schema_refuses(
    server: Server, namespace: str, spec: Json, field: str, reason: str, message: str
):
    answer = server.post(widgets(namespace), widget("a", **spec))
    refusal = answer.refused(422, "Invalid")
    assert refusal["details"]["kind"] == "Widget"
    assert refusal["details"]["name"] == "a"
    expected = {"field": field, "reason": reason, "message": message}
    assert answer.causes == [expected]


@pytest.mark.parametrize(
    ("field", "number", "kept"),
    [
        *(("size", "1.0", "1"), ("size", "5e1", "50"), ("size", "-0.0", "0")),
        *(("port", "1.5e1", "15"), ("port", "1e300", ""), ("port", "1.5", "")),
        *(("size", "1e300", ""), ("size", "9223372036854775808", "")),
        *(("free", '{"a": 2.0}', '{"a":2}'), ("free", '{"a": 2.5}', '{"a":2.5}')),
    ],
)
def test_a_number_is_read_and_written_as_by_go(
    server: Server, namespace: str, field: str, number: str, kept: str
):
    """A client in Go cannot read 1.0 into a field that is an int."""
    body = json.dumps(widget(**{field: "?"})).replace('"?"', number).encode()
    answer = server.call("POST", widgets(namespace), body)
    answer.expect(201 if kept else 422)
    assert f'"{field}":{kept}' in answer.text.replace(" ", "") or not kept


def test_a_number_that_is_not_whole_is_no_integer(server: Server, namespace: str):
    answer = server.post(widgets(namespace), widget("a", size=1.5))
    answer.refused(422, "Invalid")
    wrong = next(cause for cause in answer.causes if cause["field"] == "spec.size")
    assert wrong["message"] == (
        'Invalid value: "number": spec.size in body must be of type integer: "number"'
    )


def test_all_that_is_wrong_is_told_at_once(server: Server, namespace: str):
    answer = server.post(widgets(namespace), widget("a", size=-1, color="pink"))
    message = answer.refused(422, "Invalid")["message"]
    assert sorted(c["field"] for c in answer.causes) == ["spec.color", "spec.size"]
    assert message.startswith('Widget.contract.example.com "a" is invalid: [')


def test_the_top_is_required_too(server: Server, namespace: str):
    body = widget("a")
    del body["spec"]
    answer = server.post(widgets(namespace), body)
    answer.refused(422, "Invalid")
    assert answer.causes[0]["field"] == "spec"


def test_a_spec_of_the_wrong_type(server: Server, namespace: str):
    answer = server.post(widgets(namespace), widget("a") | {"spec": "x"})
    answer.refused(422, "Invalid")
    assert answer.causes[0]["field"] == "spec"


def test_status_is_validated_and_open(server: Server, namespace: str):
    make(server, namespace, size=1)
    path = widgets(namespace, "a", "status")
    server.patch(path, {"status": "text"}).refused(422, "Invalid")
    after = server.patch(path, {"status": {"any": {"thing": 1}}}).expect(200).json
    assert after["status"] == {"any": {"thing": 1}}
