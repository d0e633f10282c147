"""Owner references that are malformed, and those that are there twice."""

import json

import pytest
from contractclient import config_maps, widget, widgets

OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
FIELDS = ("apiVersion", "kind", "name", "uid")
WORDS = dict.fromkeys(FIELDS, "must not be empty") | {
    "apiVersion": "version must not be empty"
}
TWICE = "contains duplicate entries"


@pytest.fixture(params=["built-in", "custom"])
def kind(request, namespace):
    """The path of a collection, and an object for it."""
    if request.param == "custom":
        return widgets(namespace), widget("a")
    return config_maps(namespace), {"metadata": {"name": "a"}}


def owned(server, kind, owners, **query):
    path, obj = kind
    meta = obj["metadata"] | {"ownerReferences": owners}
    return server.post(path, obj | {"metadata": meta}, **query)


def told(answer):
    answer.refused(422, "Invalid")
    return [(c["field"], c["reason"], c["message"]) for c in answer.causes]


def cause(field, value, why):
    at = f"metadata.ownerReferences{field}"
    return (at, "FieldValueInvalid", f"Invalid value: {value}: {why}")


def compact(value):
    return json.dumps(value, separators=(",", ":"))


@pytest.mark.parametrize("field", FIELDS)
def test_an_owner_lacks_nothing(server, kind, field):
    owner = {name: value for name, value in OWNER.items() if name != field}
    expected = [cause(f".{field}", '""', WORDS[field])]
    assert told(owned(server, kind, [owner])) == expected
    assert told(owned(server, kind, [OWNER | {field: ""}])) == expected


@pytest.mark.parametrize("owner", [{}, None], ids=["empty", "null"])
def test_an_owner_that_says_nothing_lacks_it_all(server, kind, owner):
    assert told(owned(server, kind, [owner])) == [
        cause(f".{field}", '""', WORDS[field]) for field in FIELDS
    ]


def test_an_owners_version_has_one_slash_at_most(server, kind):
    answer = owned(server, kind, [OWNER | {"apiVersion": "a/b/c"}])
    assert told(answer) == [cause(".apiVersion", '"a/b/c"', WORDS["apiVersion"])]


def test_an_event_owns_nothing(server, kind):
    event = OWNER | {"kind": "Event"}
    why = "/v1, Kind=Event is disallowed from being an owner"
    answer = owned(server, kind, [event])
    assert told(answer) == [cause("", compact(event), why)]


def test_one_owner_alone_controls(server, kind):
    first, *more = owners = [
        OWNER | {"name": name, "uid": name, "controller": True} for name in "pqr"
    ]
    assert told(owned(server, kind, owners)) == [
        cause(
            "",
            compact(owners),
            "Only one reference can have Controller set to true. Found "
            f'"true" in references for ConfigMap/{first["name"]} and '
            f"ConfigMap/{other['name']}",
        )
        for other in more
    ]


@pytest.mark.parametrize(
    ("owners", "why"),
    [
        ("x", "string into Go struct field ObjectMeta.{} of type []v1.OwnerReference"),
        (["x"], "string into Go struct field ObjectMeta.{} of type v1.OwnerReference"),
        (
            [OWNER | {"uid": 5}],
            "number into Go struct field OwnerReference.{}.uid of type types.UID",
        ),
        (
            [OWNER | {"controller": "x"}],
            "string into Go struct field OwnerReference.{}.controller of type bool",
        ),
    ],
    ids=["text", "texts", "number", "no-truth"],
)
def test_owners_of_another_type_cannot_be_read(server, kind, owners, why):
    is_custom = "widgets" in kind[0]
    path = "ownerReferences" if is_custom else "metadata.ownerReferences"
    document = owned(server, kind, owners).refused(400, "BadRequest")
    assert document["message"].endswith(f"json: cannot unmarshal {why.format(path)}")


def test_an_owner_is_kept_once_and_its_writer_warned(server, kind):
    other = OWNER | {"name": "p"}
    answer = owned(server, kind, [OWNER, other, OWNER], dryRun="All").expect(201)
    assert answer.json["metadata"]["ownerReferences"] == [OWNER, other]
    assert f".metadata.ownerReferences {TWICE};" in answer.headers["Warning"]
    assert answer.headers["Warning"].endswith('duplicate UID(s) observed: u"')
    path, obj = kind
    server.post(path, obj).expect(201)
    body = {"metadata": {"ownerReferences": [OWNER, OWNER]}}
    answer = server.patch(f"{path}/a", body, dryRun="All").expect(200)
    assert answer.json["metadata"]["ownerReferences"] == [OWNER]
    assert f"{TWICE} after mutating admission happens;" in answer.headers["Warning"]
