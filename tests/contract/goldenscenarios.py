"""Sequences of requests whose answers are recorded from a real kube-apiserver.

Every scenario has a namespace of its own, and the record has its requests in order.
`record.py` records the scenarios, and test_contract_golden.py compares them.
"""

from collections.abc import Callable
from typing import Any

from contractclient import (
    APPLY,
    CRDS,
    GROUP,
    JSON_PATCH,
    STRATEGIC,
    Json,
    Server,
    config_maps,
    crd,
    is_established,
    widget,
    widgets,
)

Scenario = Callable[[Server, str], None]
_OPEN: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_LIST: Json = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}
_OLD_UID = "8f0c7c5e-0000-4000-8000-000000000000"


def creates(server: Server, ns: str) -> None:
    path = widgets(ns)
    server.post(path, widget("a", size=3, color="red", entries=[{"name": "x"}]))
    server.post(path, widget("a"))
    server.post(path, widget("Bad_Name"))
    server.post(path, {**widget("b"), "kind": "Gadget"})
    server.post(path, {**widget("b"), "apiVersion": f"{GROUP}/v7"})
    server.post(path, {"spec": {}})
    server.post(path, widget("dry"), dryRun="All")
    server.post(path, widget("dry"), dryRun="Maybe")
    server.post(path, widget("b"), fieldValidation="Loud")
    server.post(path, widget("b"), fieldManager="m" * 129)
    server.post(path, {**widget("b"), "metadata": {"name": "b", "namespace": "other"}})
    server.post(f"{path}/zz", widget("z2"))
    server.post(f"/apis/{GROUP}/v1/widgets", widget("b"))
    server.post(widgets("no-such-namespace"), widget("b"))


def invalid_fields(server: Server, ns: str) -> None:
    path = widgets(ns)
    refused: tuple[Json, ...] = (
        {"size": 101},
        {"size": -1},
        {"size": "one"},
        {"color": "pink"},
        {"mode": "UPPER"},
        {"mode": "abcdefghijkl"},
        {"steps": ["a", "b", "c", "d"]},
        {"tags": ["a", "a"]},
        {"entries": [{"name": "a"}, {"name": "a"}]},
        {"entries": [{"value": "v"}]},
        {"nested": {}},
        {"port": True},
        {"size": 101, "color": "pink", "nested": {"must": 1}},
    )
    for spec in refused:
        server.post(path, widget("bad", **spec))
    server.post(path, {k: v for k, v in widget("bad").items() if k != "spec"})


def validation_levels(server: Server, ns: str) -> None:
    path = widgets(ns)
    server.post(path, widget("w", other=1, size=2))
    server.post(path, widget("s", other=1), fieldValidation="Strict")
    server.post(path, widget("i", other=1), fieldValidation="Ignore")
    body = {"metadata": {"name": "c", "oops": 1}, "data": {"a": "b"}, "datum": 1}
    server.post(config_maps(ns), body)
    server.post(config_maps(ns), body, fieldValidation="Strict")
    server.patch(f"{path}/w", {"spec": {"more": True}}, fieldValidation="Strict")


def replaces(server: Server, ns: str) -> None:
    path = widgets(ns, "a")
    made = server.post(widgets(ns), widget("a", size=3, color="red")).json
    changed = server.put(path, {**made, "spec": {"size": 4}}).json
    server.put(path, made)
    server.put(path, widget("a"))
    server.put(path, changed)
    server.put(path, _with_meta(changed, name="b"))
    server.put(path, _with_meta(changed, namespace="other"))
    server.put(path, _with_meta(changed, uid=_OLD_UID))
    server.put(path, {**changed, "kind": "Gadget"})
    server.put(widgets(ns, "nobody"), _with_meta(changed, name="nobody"))
    server.put(widgets(ns), changed)
    server.put(f"{path}/status", {**changed, "status": {"ready": True}})
    server.get(f"{path}/status")
    server.get(f"{path}/nothing")


def patches(server: Server, ns: str) -> None:
    path = widgets(ns, "a")
    server.post(widgets(ns), widget("a", size=3, color="red", steps=["x"]))
    server.patch(path, {"spec": {"color": None, "size": 4}})
    server.patch(path, {"spec": {"size": 4}})
    server.patch(path, {"metadata": {"resourceVersion": "1"}, "spec": {"size": 5}})
    server.patch(path, {"metadata": {"uid": _OLD_UID}})
    server.patch(path, {"metadata": {"name": "b"}})
    server.patch(path, {"kind": "Gadget"})
    server.patch(path, {"apiVersion": f"{GROUP}/v2"})
    server.patch(path, {"spec": {"size": "big"}})
    server.patch(path, {"spec": None})
    server.patch(path, [1])
    add = {"op": "add", "path": "/spec/steps/-", "value": "y"}
    server.patch(path, [add], JSON_PATCH)
    server.patch(path, [{"op": "test", "path": "/spec/size", "value": 9}], JSON_PATCH)
    server.patch(path, [{"op": "remove", "path": "/kind"}], JSON_PATCH)
    server.patch(path, [{"op": "fly", "path": "/spec"}], JSON_PATCH)
    server.patch(path, {}, JSON_PATCH)
    server.patch(path, {}, STRATEGIC)
    server.patch(path, {}, "application/json")
    server.patch(path, {"spec": {}}, force="true")
    server.patch(f"{path}/status", {"status": {"a": 1}, "spec": {"size": 9}})
    server.patch(widgets(ns, "nobody"), {"spec": {}})


def applies(server: Server, ns: str) -> None:
    path = widgets(ns, "a")
    body = widget("a", size=3, color="red", entries=[{"name": "x", "value": "1"}])
    server.apply(path, body, "one")
    server.apply(path, body, "one")
    two = widget("a", size=4, entries=[{"name": "y", "value": "2"}])
    server.apply(path, two, "two")
    server.apply(path, two, "two", force="true")
    server.apply(path, widget("a", color="red"), "one")
    server.patch(path, {"spec": {"mode": "fast"}}, fieldManager="three")
    server.apply(path, widget("a", mode="slow"), "one")
    server.patch(path, body, APPLY)
    server.apply(path, {**body, "metadata": {"name": "b"}}, "one")
    server.apply(path, widget("a", unknown=1), "one")
    server.apply(f"{path}/status", {**widget("a"), "status": {"n": 1}}, "stater")
    server.apply(path, widget("a", size="x"), "one", force="true")
    server.apply(config_maps(ns, "c"), _config_map("c", {"a": "1"}), "one")
    server.apply(config_maps(ns, "c"), _config_map("c", {"b": "1"}), "one")
    server.apply(config_maps(ns, "c"), _config_map("c", {"b": "2"}), "two")


def deletes(server: Server, ns: str) -> None:
    held = widget("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    server.post(widgets(ns), held)
    server.post(widgets(ns), widget("free"))
    server.delete(widgets(ns, "free"), {"preconditions": {"uid": _OLD_UID}})
    server.delete(widgets(ns, "free"), {"preconditions": {"resourceVersion": "1"}})
    server.delete(widgets(ns, "free"), {"propagationPolicy": "Sideways"})
    server.delete(widgets(ns, "free"), dryRun="All")
    server.delete(widgets(ns, "free"), widget("free"))
    server.delete(widgets(ns, "free"))
    server.delete(widgets(ns, "free"))
    server.delete(widgets(ns, "held"))
    server.delete(widgets(ns, "held"))
    more = {"metadata": {"finalizers": ["example.com/hold", "example.com/b"]}}
    server.patch(widgets(ns, "held"), more)
    server.patch(widgets(ns, "held"), {"metadata": {"finalizers": None}})
    server.get(widgets(ns, "held"))


def collections(server: Server, ns: str) -> None:
    for name, label in (("a", "x"), ("b", "x"), ("c", "y")):
        server.post(widgets(ns), _with_meta(widget(name), labels={"l": label}))
    server.get(widgets(ns), limit=2)
    server.get(widgets(ns), limit=1, labelSelector="l=x")
    server.get(widgets(ns), labelSelector="l in (x")
    server.get(widgets(ns), fieldSelector="spec.mode=x")
    server.get(widgets(ns), fieldSelector="metadata.name=b")
    server.get(widgets(ns), resourceVersion="abc")
    server.get(widgets(ns), resourceVersion="999999999")
    server.get(widgets(ns), resourceVersionMatch="Exact")
    server.get(widgets(ns), resourceVersion="0", resourceVersionMatch="Exact")
    server.get(widgets(ns), sendInitialEvents="true")
    server.get(widgets(ns), limit="many")
    server.get(widgets(ns), **{"continue": "nonsense"})
    server.get(config_maps(ns), fieldSelector="data.a=b")
    server.delete(widgets(ns), labelSelector="l=x")
    server.get(widgets(ns))


def watches(server: Server, ns: str) -> None:
    query: dict[str, Any] = {"watch": "true", "timeoutSeconds": 1}
    server.get(widgets(ns), watch="true", resourceVersion="abc")
    server.get(widgets(ns), **query, sendInitialEvents="true")
    server.get(widgets(ns), **query, resourceVersionMatch="NotOlderThan")
    server.get(widgets(ns), **query, labelSelector="a b")


def forms(server: Server, ns: str) -> None:
    server.post(widgets(ns), widget("a", size=3))
    server.post(config_maps(ns), _config_map("c", {"a": "1", "b": "2"}))
    secret = {"metadata": {"name": "s"}, "stringData": {"a": "b"}}
    server.post(f"/api/v1/namespaces/{ns}/secrets", secret)
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
    server.post(f"/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", lease)
    for path in (
        widgets(ns),
        widgets(ns, "a"),
        config_maps(ns),
        f"/api/v1/namespaces/{ns}/secrets",
        f"/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
        f"/api/v1/namespaces/{ns}",
    ):
        _get_as(server, path, "Table")
    _get_as(server, widgets(ns), "PartialObjectMetadataList")
    _get_as(server, widgets(ns, "a"), "PartialObjectMetadata")
    _get_as(server, config_maps(ns, "c"), "PartialObjectMetadata")
    server.call("GET", widgets(ns), headers={"Accept": "text/plain"})
    server.get(config_maps(ns))


def built_ins(server: Server, ns: str) -> None:
    core = f"/api/v1/namespaces/{ns}"
    secrets = f"{core}/secrets"
    server.post(secrets, {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
    server.patch(f"{secrets}/s", {"stringData": {"c": "d"}})
    server.post(secrets, {"metadata": {"name": "t"}, "data": {"a": "???"}})
    server.post(secrets, {"metadata": {"name": "t"}, "data": {"a b": "eA=="}})
    server.post(secrets, {"metadata": {"name": "i"}, "immutable": True})
    server.patch(f"{secrets}/i", {"data": {"a": "eA=="}})
    server.patch(f"{secrets}/s", {"type": "other/type"})
    server.post(config_maps(ns), _config_map("c", {}))
    server.post(config_maps(ns), {"metadata": {"name": "d"}, "data": {"a": 1}})
    server.post(config_maps(ns), {"metadata": {"name": "d"}, "data": {"a/b": "x"}})
    server.put(config_maps(ns), _config_map("c", {}))
    server.get(f"{config_maps(ns, 'c')}/status")
    server.post(f"{core}/serviceaccounts", {"metadata": {"name": "sa"}})
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
    spec = {"holderIdentity": "me", "leaseDurationSeconds": 0}
    server.post(leases, {"metadata": {"name": "l"}, "spec": spec})
    spec = {"holderIdentity": "me", "renewTime": "2025-01-02T03:04:05.678901Z"}
    made = server.post(leases, {"metadata": {"name": "l"}, "spec": spec}).json
    server.put(f"{leases}/l", {**made, "spec": {"holderIdentity": "you"}})
    server.put(f"{leases}/l", made)


def events(server: Server, ns: str) -> None:
    path = f"/api/v1/namespaces/{ns}/events"
    involved = {"kind": "Widget", "namespace": ns, "name": "w", "apiVersion": "v1"}
    body: Json = {
        "metadata": {"name": "e"},
        "involvedObject": involved,
        "reason": "Tried",
        "message": "it was tried",
        "type": "Normal",
        "source": {"component": "contract"},
        "firstTimestamp": "2025-01-02T03:04:05Z",
        "lastTimestamp": "2025-01-02T03:04:05Z",
        "count": 1,
    }
    server.post(path, body)
    server.patch(f"{path}/e", {"count": 2})
    server.patch(f"{path}/e", {"count": 3}, STRATEGIC)
    server.get(path, fieldSelector="involvedObject.name=w,reason=Tried")
    server.get(path, fieldSelector="involvedObject.name=v")
    server.get(path, fieldSelector="message=x")
    other = {**body, "involvedObject": {**involved, "namespace": "elsewhere"}}
    server.post(path, _with_meta(other, name="f"))


def namespaces(server: Server, ns: str) -> None:
    path = "/api/v1/namespaces"
    server.get(f"{path}/{ns}")
    server.post(path, {"metadata": {"name": ns}})
    server.post(path, {"metadata": {"name": "Bad.Name"}})
    server.patch(f"{path}/{ns}", {"metadata": {"labels": {"a": "b"}}})
    server.get(f"{path}/nowhere")
    server.delete(f"{path}/nowhere")
    server.delete(f"{path}/default")


def roles(server: Server, ns: str) -> None:
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}"
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    server.post(f"{path}/roles", {"metadata": {"name": "r"}, "rules": [rule]})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    subject = {"kind": "ServiceAccount", "name": "sa", "namespace": ns}
    binding = {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [subject]}
    made = server.post(f"{path}/rolebindings", binding).json
    changed = {**made, "roleRef": {**reference, "name": "other"}}
    server.put(f"{path}/rolebindings/b", changed)
    server.post(f"{path}/roles", {"metadata": {"name": "r2"}, "rules": [{"verbs": []}]})


def definitions(server: Server, ns: str) -> None:
    """CRDs are not in a namespace, so their group is named after the namespace."""
    made = _definition(ns, {"type": "object", "properties": {"spec": _OPEN}})
    name = made["metadata"]["name"]
    server.post(CRDS, made)
    server.post(CRDS, made)
    with server.watch(CRDS, fieldSelector=f"metadata.name={name}") as told:
        next(event for event in told if is_established(event["object"]))
    server.get(f"{CRDS}/{name}")
    server.patch(f"{CRDS}/{name}", {"spec": {"scope": "Cluster"}})
    server.patch(f"{CRDS}/{name}", {"spec": {"group": "other.example.com"}})
    server.patch(f"{CRDS}/{name}", {"spec": {"names": {"shortNames": ["x"]}}})
    with server.watch(CRDS, fieldSelector=f"metadata.name={name}") as told:
        next(
            e for e in told if e["object"]["status"]["acceptedNames"].get("shortNames")
        )
    server.delete(f"{CRDS}/{name}", dryRun="All")
    for schema in (
        {"type": "string"},
        {},
        {"type": "object", "properties": {"spec": {}}},
        {"type": "object", "properties": {"spec": {"type": "text"}}},
        {"type": "object", "properties": {"spec": {"type": "array"}}},
        {"type": "object", "properties": {"spec": {"$ref": "#/x"}}},
        {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}},
        {"type": "object", "properties": {"a": _OPEN}, "additionalProperties": _OPEN},
        {"type": "object", "properties": {"a": {**_LIST, "items": {"type": "string"}}}},
        {"type": "object", "properties": {"a": {**_LIST, "items": _OPEN}}},
    ):
        server.post(CRDS, _definition(ns, schema, "others"))
    other = _definition(ns, {"type": "object"}, "others")
    server.post(CRDS, {**other, "metadata": {"name": "wrong.example.com"}})
    spec = other["spec"]
    server.post(CRDS, {**other, "spec": {**spec, "scope": "World"}})
    server.post(CRDS, {**other, "spec": {**spec, "names": {"plural": "others"}}})
    first = spec["versions"][0]
    fields = [{**first, "selectableFields": [{"jsonPath": ".spec.none"}]}]
    server.post(CRDS, {**other, "spec": {**spec, "versions": fields}})
    server.post(
        CRDS, {**other, "spec": {**spec, "conversion": {"strategy": "Webhook"}}}
    )


def unknown_paths(server: Server, ns: str) -> None:
    server.get("/nothing")
    server.get("/apis/nothing.example.com")
    server.get("/apis/nothing.example.com/v1")
    server.get(f"/apis/{GROUP}/v9")
    server.get(f"/apis/{GROUP}/v1/gadgets")
    server.get(f"/api/v1/namespaces/{ns}/widgets")
    server.call("DELETE", "/version")
    server.call("GET", "/healthz")
    server.call(
        "GET", f"/apis/{GROUP}/v1/widgets", headers={"Authorization": "Bearer x"}
    )


SCENARIOS: dict[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (
        creates,
        invalid_fields,
        validation_levels,
        replaces,
        patches,
        applies,
        deletes,
        collections,
        watches,
        forms,
        built_ins,
        events,
        namespaces,
        roles,
        definitions,
        unknown_paths,
    )
}


def _with_meta(obj: Json, **meta: Any) -> Json:
    return {**obj, "metadata": {**obj["metadata"], **meta}}


def _config_map(name: str, data: Json) -> Json:
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    return {**head, "data": data}


def _get_as(server: Server, path: str, form: str) -> None:
    accept = f"application/json;as={form};g=meta.k8s.io;v=v1"
    server.call("GET", path, headers={"Accept": accept})


def _definition(ns: str, schema: Json, plural: str = "things") -> Json:
    made = crd(plural, plural.title().removesuffix("s"), schema)
    made["spec"]["group"] = f"{ns}.example.com"
    made["metadata"]["name"] = f"{plural}.{ns}.example.com"
    return made
