"""CRDs: establishing, what a schema does to objects, and versions."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from contractclient import CRDS, GROUP, Json, Server, crd, widget, widgets

_TEXT = {"type": "string"}
_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def schema(**spec: Json) -> Json:
    inner = {"type": "object", "properties": spec}
    return {"type": "object", "properties": {"spec": inner}}


@pytest.fixture
def gadgets(server: Server) -> Iterator[Json]:
    """A CRD of the test's own, installed."""
    plural = f"gadgets{uuid.uuid4().hex[:6]}"
    made = server.install(crd(plural, plural.title(), schema(a=_TEXT)))
    yield made
    server.delete(f"{CRDS}/{plural}.{GROUP}")


def path_of(made: Json, namespace: str) -> str:
    plural = made["spec"]["names"]["plural"]
    return f"/apis/{GROUP}/v1/namespaces/{namespace}/{plural}"


def test_a_crd_is_completed_and_established(gadgets: Json):
    names = gadgets["spec"]["names"]
    assert names["singular"] == names["kind"].lower()
    assert names["listKind"] == names["kind"] + "List"
    assert gadgets["spec"]["conversion"] == {"strategy": "None"}
    conditions = {c["type"]: c["status"] for c in gadgets["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert gadgets["status"]["storedVersions"] == ["v1"]
    assert gadgets["status"]["acceptedNames"] == names


def test_deleting_a_crd_ends_its_endpoint(
    server: Server, namespace: str, gadgets: Json
):
    path = path_of(gadgets, namespace)
    body = {"apiVersion": f"{GROUP}/v1", "kind": gadgets["spec"]["names"]["kind"]}
    server.post(path, body | {"metadata": {"name": "a"}}).expect(201)
    name = gadgets["metadata"]["name"]
    with server.watch(CRDS, fieldSelector=f"metadata.name={name}") as events:
        server.delete(f"{CRDS}/{name}").expect(200)
        next(event for event in events if event["type"] == "DELETED")
    while server.get(path).status == 200:
        pass
    assert server.get(path).status == 404
    server.install(crd(gadgets["spec"]["names"]["plural"], body["kind"], schema()))
    assert server.get(path).expect(200).json["items"] == []


def refused(server: Server, made: Json) -> list[str]:
    answer = server.post(CRDS, made)
    answer.refused(422, "Invalid")
    assert answer.json["details"]["kind"] == "CustomResourceDefinition"
    return [cause["field"] for cause in answer.causes]


def changed(plural: str = "things", **spec: Any) -> Json:
    made = crd(plural, "Thing", schema(a=_TEXT))
    made["spec"] |= spec
    return made


def test_a_crd_is_named_after_its_plural_and_group(server: Server):
    made = changed()
    made["metadata"]["name"] = "other.contract.example.com"
    assert refused(server, made) == ["metadata.name"]


def test_a_crd_has_a_scope(server: Server):
    made = changed()
    del made["spec"]["scope"]
    assert "spec.scope" in refused(server, made)


def test_a_crd_has_one_stored_version(server: Server):
    made = changed()
    made["spec"]["versions"][0]["storage"] = False
    assert "spec.versions" in refused(server, made)


def test_a_crd_has_a_schema(server: Server):
    made = changed()
    del made["spec"]["versions"][0]["schema"]
    fields = refused(server, made)
    assert any("schema" in field for field in fields)


@pytest.mark.parametrize(
    "bad",
    [
        {"properties": {"b": _TEXT}},
        {"type": "object", "properties": {"b": {"description": "no type"}}},
        {"type": "array"},
        {"type": "wrong"},
        {"type": "object", "properties": {"b": _TEXT}, "additionalProperties": _TEXT},
        {"type": "string", "default": 5},
        {"$ref": "#/definitions/x"},
        {"type": "string", "pattern": "("},
        {"type": "object", "uniqueItems": True},
    ],
    ids=[
        "no type",
        "no inner type",
        "no items",
        "unknown type",
        "both properties",
        "wrong default",
        "reference",
        "bad pattern",
        "unique items",
    ],
)
def test_a_schema_is_structural(server: Server, bad: Json):
    made = crd("things", "Thing", schema(a=bad))
    assert refused(server, made)


REFUSED: dict[str, tuple[str, Json]] = {
    # How the version of a CRD is changed, and the end of the field that is refused.
    "column without a type": (
        "additionalPrinterColumns[0].type",
        {"additionalPrinterColumns": [{"name": "A", "jsonPath": ".spec.a"}]},
    ),
    "column of a wrong path": (
        "additionalPrinterColumns[0].JSONPath",
        {
            "additionalPrinterColumns": [
                {"name": "A", "type": "string", "jsonPath": "spec.a"}
            ]
        },
    ),
    "scale outside of the spec": (
        "scale.specReplicasPath",
        {
            "subresources": {
                "scale": {
                    "specReplicasPath": ".status.n",
                    "statusReplicasPath": ".status.n",
                }
            }
        },
    ),
    "selectable object": (
        "selectableFields[0].jsonPath",
        {"selectableFields": [{"jsonPath": ".spec"}]},
    ),
    "selectable twice": (
        "selectableFields[1].jsonPath",
        {"selectableFields": [{"jsonPath": ".spec.a"}, {"jsonPath": ".spec.a"}]},
    ),
    "warning of a current version": (
        "deprecationWarning",
        {"deprecationWarning": "old"},
    ),
    "empty warning": (
        "deprecationWarning",
        {"deprecated": True, "deprecationWarning": ""},
    ),
    "name of a version": ("versions[0].name", {"name": "V1"}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_version_that_kubernetes_has_no_place_for_is_refused(
    server: Server, case: str
):
    field, change = REFUSED[case]
    made = changed()
    made["spec"]["versions"][0] |= change
    assert any(found.endswith(field) for found in refused(server, made))


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("pattern", {"type": "string", "pattern": "(?=a)"}),
        ("pattern", {"type": "string", "pattern": r"(a)\1"}),
        ("pattern", {"type": "string", "pattern": "a{1001}"}),
        ("type", {"type": "string", "x-kubernetes-map-type": "atomic"}),
        ("map-type", {"type": "object", "x-kubernetes-map-type": "whole"}),
        ("type", {"type": "string", "x-kubernetes-list-type": "set"}),
        (
            "items.nullable",
            {
                "type": "array",
                "x-kubernetes-list-type": "set",
                "items": {"type": "string", "nullable": True},
            },
        ),
        (
            "items.x-kubernetes-map-type",
            {
                "type": "array",
                "x-kubernetes-list-type": "set",
                "items": {"type": "object", "properties": {"b": _TEXT}},
            },
        ),
        ("anyOf[0].type", {"type": "string", "anyOf": [{"type": "string"}]}),
        ("definitions", {"type": "object", "definitions": {"b": _TEXT}}),
        (
            "default",
            {"type": "object", "properties": {"b": _TEXT}, "default": {"c": "d"}},
        ),
        (
            "rule",
            {
                "type": "object",
                "properties": {"b": _TEXT},
                "x-kubernetes-validations": [{"rule": "self.b == 1"}],
            },
        ),
        (
            "message",
            {
                "type": "object",
                "properties": {"b": _TEXT},
                "x-kubernetes-validations": [{"rule": "true", "message": " "}],
            },
        ),
    ],
)
def test_a_schema_that_kubernetes_cannot_read_is_refused(
    server: Server, field: str, bad: Json
):
    found = refused(server, crd("things", "Thing", schema(a=bad)))
    assert any(one.endswith(field) for one in found), found


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("spec.names.shortNames[0]", {"shortNames": ["A"]}),
        ("spec.names.categories[0]", {"categories": ["a b"]}),
        ("spec.names.listKind", {"listKind": "Thing"}),
        ("spec.names.kind", {"kind": "1Thing"}),
        ("spec.names.singular", {"singular": "a.b"}),
    ],
)
def test_a_name_is_a_label(server: Server, field: str, names: Json):
    made = changed()
    made["spec"]["names"] |= names
    assert field in refused(server, made)


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("^a$", "a", "a\n"),
        (r"^\d$", "1", "\u0663"),
        (r"^\w$", "a", "\u00e9"),
        (r"^\pL$", "\u00e9", "1"),
        ("^[[:alpha:]]$", "a", "\u00e9"),
        ("(?i)^k$", "\u212a", "b"),
    ],
)
def test_patterns_are_matched_as_re2_does(
    server: Server, namespace: str, pattern: str, good: str, bad: str
):
    plural = f"matched{uuid.uuid4().hex[:6]}"
    shape = schema(a={"type": "string", "pattern": pattern})
    made = server.install(crd(plural, plural.title(), shape))
    path = path_of(made, namespace)
    body = {"apiVersion": f"{GROUP}/v1", "kind": plural.title()}
    for name, value, status in (("good", good, 201), ("bad", bad, 422)):
        spec = {"metadata": {"name": name}, "spec": {"a": value}}
        assert server.post(path, body | spec).status == status, value
    server.delete(f"{CRDS}/{plural}.{GROUP}")


def test_an_empty_list_of_values_allows_every_value(server: Server, namespace: str):
    plural = f"listed{uuid.uuid4().hex[:6]}"
    shape = schema(a={"type": "string", "enum": [], "default": "any"})
    made = server.install(crd(plural, plural.title(), shape))
    body = {"apiVersion": f"{GROUP}/v1", "kind": plural.title()}
    spec = {"metadata": {"name": "one"}, "spec": {}}
    created = server.post(path_of(made, namespace), body | spec).expect(201)
    assert created.json["spec"] == {"a": "any"}
    server.delete(f"{CRDS}/{plural}.{GROUP}")


def test_a_default_of_the_whole_object_has_a_kind(server: Server):
    top = {**schema(a=_TEXT), "default": {}}
    assert "default.kind" in str(refused(server, crd("things", "Thing", top)))


def test_the_top_of_a_schema_is_an_object(server: Server):
    assert refused(server, crd("things", "Thing", {"type": "string"}))


def test_a_crd_that_breaks_json_types_is_a_bad_request(server: Server):
    made = changed(versions="v1")
    server.post(CRDS, made).refused(400, "BadRequest")


def test_a_kind_that_is_taken_is_not_accepted(server: Server, namespace: str):
    other = f"others{uuid.uuid4().hex[:6]}"
    made = crd(other, "Widget", schema(a=_TEXT))
    server.post(CRDS, made).expect(201)
    name = made["metadata"]["name"]
    try:
        query = {"fieldSelector": f"metadata.name={name}"}
        with server.watch(CRDS, **query) as events:
            stated = next(
                event["object"]
                for event in events
                if event["object"].get("status", {}).get("conditions")
            )
        conditions = {c["type"]: c for c in stated["status"]["conditions"]}
        assert conditions["NamesAccepted"]["status"] == "False"
        assert conditions["Established"]["status"] == "False"
        path = f"/apis/{GROUP}/v1/namespaces/{namespace}/{other}"
        assert server.get(path).status == 404
    finally:
        server.delete(f"{CRDS}/{name}")


@pytest.fixture
def twins(server: Server) -> Iterator[str]:
    """The plural of a kind with two served versions and one that is not."""
    plural = f"twins{uuid.uuid4().hex[:6]}"
    made = crd(plural, plural.title(), schema(a=_TEXT, b=_TEXT))
    first = made["spec"]["versions"][0]
    made["spec"]["versions"] += [
        {**first, "name": "v2", "storage": False},
        {**first, "name": "v1beta1", "storage": False, "served": False},
    ]
    server.install(made)
    yield plural
    server.delete(f"{CRDS}/{plural}.{GROUP}")


def test_versions_are_views_of_one_object(server: Server, namespace: str, twins: str):
    body = {"apiVersion": f"{GROUP}/v2", "kind": twins.title()}
    body |= {"metadata": {"name": "a"}, "spec": {"a": "1"}}
    one, two = (
        f"/apis/{GROUP}/{version}/namespaces/{namespace}/{twins}"
        for version in ("v1", "v2")
    )
    made = server.post(two, body).expect(201)
    assert made.json["apiVersion"] == f"{GROUP}/v2"
    read = server.get(f"{one}/a").expect(200)
    assert read.json["apiVersion"] == f"{GROUP}/v1"
    assert (read.rv, read.json["spec"]) == (made.rv, {"a": "1"})
    assert server.get(one).json["items"][0]["apiVersion"] == f"{GROUP}/v1"
    with server.watch(two) as events:
        assert next(events)["object"]["apiVersion"] == f"{GROUP}/v2"


def test_a_version_that_objects_were_stored_in_stays(server: Server, twins: str):
    name = f"{twins}.{GROUP}"
    versions = server.get(f"{CRDS}/{name}").json["spec"]["versions"]
    others = [
        {**v, "storage": v["name"] == "v2"} for v in versions if v["name"] != "v1"
    ]
    answer = server.patch(f"{CRDS}/{name}", {"spec": {"versions": others}}).expect(422)
    (cause,) = answer.json["details"]["causes"]
    assert cause["field"] == "status.storedVersions[0]"
    assert "v1 was previously a storage version" in cause["message"]


def test_a_put_by_another_version_can_change_nothing(
    server: Server, namespace: str, twins: str
):
    body = {"apiVersion": f"{GROUP}/v1", "kind": twins.title()}
    body |= {"metadata": {"name": "a"}, "spec": {"a": "1"}}
    one, two = (
        f"/apis/{GROUP}/{version}/namespaces/{namespace}/{twins}"
        for version in ("v1", "v2")
    )
    server.post(one, body).expect(201)
    read = server.get(f"{two}/a").expect(200)
    after = server.patch(f"{two}/a", {"spec": {"a": "1"}}).expect(200)
    assert after.rv == read.rv
    assert after.json["metadata"]["generation"] == 1


def test_a_version_that_is_not_served_is_not_found(
    server: Server, namespace: str, twins: str
):
    path = f"/apis/{GROUP}/v1beta1/namespaces/{namespace}/{twins}"
    assert server.get(path).status == 404


def test_without_a_status_subresource_status_is_data(server: Server, namespace: str):
    plural = f"plains{uuid.uuid4().hex[:6]}"
    wide = schema(a=_TEXT)
    wide["properties"]["status"] = _OPEN
    made = server.install(crd(plural, plural.title(), wide))
    path = path_of(made, namespace)
    body = {"apiVersion": f"{GROUP}/v1", "kind": plural.title()}
    body |= {"metadata": {"name": "a"}, "status": {"x": 1}}
    assert server.post(path, body).expect(201).json["status"] == {"x": 1}
    after = server.patch(f"{path}/a", {"status": {"x": 2}}).expect(200).json
    assert (after["status"], after["metadata"]["generation"]) == ({"x": 2}, 2)
    assert server.get(f"{path}/a/status").status == 404
    server.delete(f"{CRDS}/{plural}.{GROUP}")


def test_a_cluster_scoped_kind_has_no_namespace(server: Server, namespace: str):
    plural = f"globals{uuid.uuid4().hex[:6]}"
    made = crd(plural, plural.title(), schema(a=_TEXT))
    made["spec"]["scope"] = "Cluster"
    server.install(made)
    path = f"/apis/{GROUP}/v1/{plural}"
    body = {"apiVersion": f"{GROUP}/v1", "kind": plural.title()}
    body |= {"metadata": {"name": "a"}}
    made = server.post(path, body).expect(201).json
    assert "namespace" not in made["metadata"]
    inside = f"/apis/{GROUP}/v1/namespaces/{namespace}/{plural}"
    assert server.get(inside).status == 404
    server.delete(f"{CRDS}/{plural}.{GROUP}")


def test_a_namespaced_kind_is_not_made_across_namespaces(server: Server):
    answer = server.post(f"/apis/{GROUP}/v1/widgets", widget("a"))
    assert answer.status in (404, 405, 422, 400), answer.text


def test_the_scale_subresource(server: Server, namespace: str):
    plural = f"scaled{uuid.uuid4().hex[:6]}"
    wide = schema(replicas={"type": "integer"})
    wide["properties"]["status"] = {"type": "object"} | {
        "properties": {"replicas": {"type": "integer"}, "selector": _TEXT}
    }
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    made = crd(
        plural, plural.title(), wide, subresources={"scale": scale, "status": {}}
    )
    made = server.install(made)
    path = path_of(made, namespace)
    body = {"apiVersion": f"{GROUP}/v1", "kind": plural.title()}
    body |= {"metadata": {"name": "a"}, "spec": {"replicas": 3}}
    server.post(path, body).expect(201)
    read = server.get(f"{path}/a/scale").expect(200).json
    assert (read["kind"], read["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert read["spec"] == {"replicas": 3}
    assert read["status"]["replicas"] == 0
    read["spec"]["replicas"] = 5
    written = server.put(f"{path}/a/scale", read).expect(200).json
    assert written["spec"] == {"replicas": 5}
    server.patch(f"{path}/a/scale", {"spec": {"replicas": 7}}).expect(200)
    assert server.get(f"{path}/a").json["spec"] == {"replicas": 7}
    server.delete(f"{CRDS}/{plural}.{GROUP}")


def test_a_watch_outlives_a_change_of_the_crd(
    server: Server, namespace: str, gadgets: Json
):
    """If it changes nothing about how the objects are served."""
    path = path_of(gadgets, namespace)
    patch = {"metadata": {"annotations": {"a": "b"}}}
    body = {"apiVersion": f"{GROUP}/v1", "kind": gadgets["spec"]["names"]["kind"]}
    with server.watch(path) as events:
        for name in ("before", "after"):
            server.post(path, {**body, "metadata": {"name": name}}).expect(201)
            event = next(events)
            assert (event["type"], event["object"]["metadata"]["name"]) == (
                "ADDED",
                name,
            )
            server.patch(f"{CRDS}/{gadgets['metadata']['name']}", patch).expect(200)


def test_a_group_version_is_part_of_the_path(server: Server, namespace: str):
    path = widgets(namespace).replace("/v1/", "/v7/")
    assert server.get(path).status == 404
