"""Discovery and OpenAPI: the facts about a new kind that kubectl and other clients
read.
"""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from contractclient import CRDS, Json, Server, crd, openapi_document, until

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch"]
_VERBS += ["update", "watch"]
_PART = ["get", "patch", "update"]


@pytest.fixture
def group(server: Server) -> str:
    """A group with one kind at three versions, served before the test begins."""
    name = f"g{uuid.uuid4().hex[:8]}.example.com"
    spec: Json = {
        "type": "object",
        "properties": {
            "count": {"type": "integer", "description": "How many.", "minimum": 1},
            "port": {"x-kubernetes-int-or-string": True},
        },
    }
    made = crd("things", "Thing", {"type": "object", "properties": {"spec": spec}})
    made["metadata"]["name"] = f"things.{name}"
    made["spec"] |= {"group": name}
    made["spec"]["names"] |= {"shortNames": ["th"], "categories": ["all"]}
    first = made["spec"]["versions"][0]
    scale = {"specReplicasPath": ".spec.count", "statusReplicasPath": ".status.count"}
    first["subresources"] = {"status": {}, "scale": scale}
    for version in ("v1beta1", "v2alpha1"):
        other = {**first, "name": version, "storage": False, "subresources": {}}
        made["spec"]["versions"].append(other)
    server.install(made)
    return name


def test_a_group_names_its_versions_best_first(server: Server, group: str):
    found = until(
        lambda: server.get(f"/apis/{group}").json if _is_there(server, group) else {},
        lambda found: len(found.get("versions", ())) == 3,
    )
    assert found["kind"] == "APIGroup"
    names = [one["version"] for one in found["versions"]]
    assert names == ["v1", "v1beta1", "v2alpha1"]
    assert found["preferredVersion"] == {
        "groupVersion": f"{group}/v1",
        "version": "v1",
    }


def test_a_version_lists_its_resources(server: Server, group: str):
    until(lambda: {"is": _is_there(server, group)}, lambda found: found["is"])
    listed = server.get(f"/apis/{group}/v1").expect(200).json
    assert (listed["kind"], listed["groupVersion"]) == (
        "APIResourceList",
        f"{group}/v1",
    )
    things, status, scale = listed["resources"]
    things["verbs"].sort()
    assert things.pop("storageVersionHash")
    assert things == {
        "name": "things",
        "singularName": "thing",
        "namespaced": True,
        "kind": "Thing",
        "verbs": _VERBS,
        "shortNames": ["th"],
        "categories": ["all"],
    }
    part = {"singularName": "", "namespaced": True, "verbs": _PART}
    assert status == {"name": "things/status", "kind": "Thing"} | part
    other = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert scale == {"name": "things/scale"} | other | part


def test_everything_at_once(server: Server, group: str):
    def ask() -> Json:
        answer = server.call("GET", "/apis", headers={"Accept": _AGGREGATED})
        assert answer.expect(200).headers["Content-Type"] == _AGGREGATED
        assert answer.json["kind"] == "APIGroupDiscoveryList"
        found = [i for i in answer.json["items"] if i["metadata"]["name"] == group]
        return found[0] if found else {}

    found = until(ask, lambda found: len(found.get("versions", ())) == 3)
    first = found["versions"][0]
    assert (first["version"], first["freshness"]) == ("v1", "Current")
    things = first["resources"][0]
    things["verbs"].sort()
    kind = {"group": group, "version": "v1", "kind": "Thing"}
    scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert things == {
        "resource": "things",
        "responseKind": kind,
        "scope": "Namespaced",
        "singularResource": "thing",
        "verbs": _VERBS,
        "shortNames": ["th"],
        "categories": ["all"],
        "subresources": [
            {"subresource": "status", "responseKind": kind, "verbs": _PART},
            {"subresource": "scale", "responseKind": scale, "verbs": _PART},
        ],
    }


def test_the_core_at_once(server: Server):
    answer = server.call("GET", "/api", headers={"Accept": _AGGREGATED}).expect(200)
    (core,) = answer.json["items"]
    (version,) = core["versions"]
    assert version["version"] == "v1"
    names = {resource["resource"] for resource in version["resources"]}
    assert {"namespaces", "secrets", "configmaps", "events"} <= names


def test_the_core_is_version_1(server: Server):
    assert server.get("/api").expect(200).json["versions"] == ["v1"]
    assert server.get("/api/v1").expect(200).json["groupVersion"] == "v1"


def test_openapi_3_has_the_kind_and_its_paths(server: Server, group: str):
    path = f"apis/{group}/v1"
    address = openapi_document(server, group)
    assert address.startswith(f"/openapi/v3/{path}?hash=")
    found = server.get(address).expect(200).json
    kind = {"group": group, "version": "v1", "kind": "Thing"}
    schema = next(
        one
        for one in found["components"]["schemas"].values()
        if one.get("x-kubernetes-group-version-kind") == [kind]
    )
    count = schema["properties"]["spec"]["properties"]["count"]
    assert count == {"type": "integer", "description": "How many.", "minimum": 1}
    one = f"/{path}/namespaces/{{namespace}}/things/{{name}}"
    patch = found["paths"][one]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == kind
    names = {parameter["name"] for parameter in patch["parameters"]}
    assert {"dryRun", "fieldManager", "fieldValidation", "force"} <= names
    assert f"{one}/status" in found["paths"]


def test_openapi_3_gives_quantities_and_ports_their_types(server: Server):
    core = server.get("/openapi/v3/api/v1").expect(200).json["components"]["schemas"]
    apps = server.get("/openapi/v3/apis/apps/v1").expect(200).json
    for schemas in (core, apps["components"]["schemas"]):
        quantity = schemas["io.k8s.apimachinery.pkg.api.resource.Quantity"]
        assert quantity["oneOf"] == [{"type": "string"}, {"type": "number"}]
        either = schemas["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]
        assert either["oneOf"] == [{"type": "integer"}, {"type": "string"}]
        assert either["format"] == "int-or-string"
        assert not [
            one for one in parts(schemas) if "x-kubernetes-int-or-string" in one
        ]
        assert not [one for one in parts(schemas) if one.get("properties") == {}]


def parts(found: Any) -> Iterator[Json]:
    """Return every object in a document."""
    if isinstance(found, dict):
        yield found
    inner = found.values() if isinstance(found, dict) else found
    for one in inner if isinstance(found, dict | list) else ():
        yield from parts(one)


def test_openapi_2_has_the_kind(server: Server, group: str):
    kind = {"group": group, "version": "v1", "kind": "Thing"}

    def ask() -> Json:
        found = server.get("/openapi/v2").expect(200).json["definitions"]
        return next(
            (
                one
                for one in found.values()
                if one.get("x-kubernetes-group-version-kind") == [kind]
            ),
            {},
        )

    schema = until(ask, bool)
    spec = schema["properties"]["spec"]["properties"]
    assert spec["count"]["type"] == "integer"
    assert "type" not in spec["port"]


def test_a_kind_that_goes_is_told_no_more(server: Server, group: str):
    until(lambda: {"is": _is_there(server, group)}, lambda found: found["is"])
    server.delete(f"{CRDS}/things.{group}").expect(200)
    until(lambda: {"is": _is_there(server, group)}, lambda found: not found["is"])


def test_health_and_version(server: Server):
    for path in ("/healthz", "/livez", "/readyz"):
        assert server.get(path).expect(200).text == "ok"
    version = server.get("/version").expect(200).json
    assert version["major"] == "1"
    assert version["gitVersion"].startswith("v1.")


def _is_there(server: Server, group: str) -> bool:
    return server.get(f"/apis/{group}/v1").status == 200
