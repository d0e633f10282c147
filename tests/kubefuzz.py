"""Broken requests from a seed, which the API server must survive.

Each has a method, a path, a query, headers and a body. They begin as valid requests and
are then broken in HTTP, in JSON, and in Kubernetes' own rules.
"""

import json
import random
import urllib.parse
from collections.abc import Iterator
from typing import Any

import attrs

from asoreconcile.base.objects import JsonObject

GROUP = "contract.example.com"
_NASTY: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    2**63,
    -(2**70),
    "",
    "a" * 300,
    "\x00",
    "\u202e",
    "..",
    "a/b",
    "%s%n",
    "{{}}",
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"metadata": {"metadata": {}}},
)
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "FOO")
_SORTS = (
    "application/json",
    "application/yaml",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
    "",
)
_ACCEPTS = (
    "application/json",
    "application/yaml",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "text/html",
    ",;=",
)
_QUERIES = (
    "dryRun",
    "fieldManager",
    "fieldSelector",
    "fieldValidation",
    "force",
    "includeObject",
    "labelSelector",
    "limit",
    "continue",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
)
_VALUES = (
    "",
    "0",
    "1",
    "-1",
    "All",
    "true",
    "Exact",
    "Strict",
    "Orphan",
    "metadata.name=a",
    "a=b,c!=d,e in (f,g)",
    "a in (",
    "!",
    "e30",
    "9" * 30,
    "\x00",
    "\u00e9",
)
_NAMED = (
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/namespaces/default/secrets",
    "/api/v1/namespaces/default/events",
    "/api/v1/namespaces",
    "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    f"/apis/{GROUP}/v1/namespaces/default/widgets",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
)
_OTHERS = (
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    "/apis/authentication.k8s.io/v1/tokenreviews",
    "/apis",
    "/api/v1",
    f"/apis/{GROUP}",
    "/openapi/v2",
    f"/openapi/v3/apis/{GROUP}/v1",
    "/version",
    "/",
)
_SUBRESOURCES = ("", "", "", "/status", "/scale", "/finalize", "/nothing", "/a/b")


@attrs.frozen
class Attempt:
    """One request.

    path: with its query, in the form for the wire.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def __str__(self) -> str:
        shown = f"{self.method} {self.path[:200]} {self.headers} {self.body[:300]!r}"
        return shown.encode("ascii", "backslashreplace").decode()


def attempt(seed: int) -> Attempt:
    """Return the request of a seed."""
    chance = random.Random(seed)
    path = _path(chance)
    query = {
        chance.choice(_QUERIES): chance.choice(_VALUES)
        for _ in range(chance.choice((0, 0, 1, 1, 2, 4)))
    }
    if query:
        path += f"?{urllib.parse.urlencode(query)}"
    headers = {"Accept": chance.choice(_ACCEPTS)}
    method = chance.choice(_METHODS[:5] if chance.random() < 0.9 else _METHODS)
    body = b""
    if method in ("POST", "PUT", "PATCH", "DELETE") and chance.random() < 0.95:
        headers["Content-Type"] = _sort(chance, method)
        body = _body(chance, path, headers["Content-Type"])
    return Attempt(method, path, headers, body)


def send(client: Any, one: Attempt) -> Any:
    """Return a contract client's raw answer to a request."""
    headers = {"Authorization": f"Bearer {client.token}", **one.headers}
    if not headers.get("Content-Type", "x"):
        del headers["Content-Type"]
    return client._pool.request(
        one.method, client.url + one.path, body=one.body or None, headers=headers
    )


def _path(chance: random.Random) -> str:
    if chance.random() < 0.1:
        return chance.choice(_OTHERS)
    path = chance.choice(_NAMED)
    if chance.random() < 0.6:
        name = chance.choice(("a", "b", "a", "b", "default", "%2e%2e", "A%20", "a%00"))
        path += f"/{name}{chance.choice(_SUBRESOURCES)}"
    if chance.random() < 0.05:
        at = chance.randrange(1, len(path))
        path = path[:at] + chance.choice(("/", "//", "%2f", "%", "..", "~")) + path[at:]
    return path


def _sort(chance: random.Random, method: str) -> str:
    if chance.random() < 0.15:
        return chance.choice(_SORTS)
    return chance.choice(_SORTS[2:6]) if method == "PATCH" else _SORTS[0]


def _body(chance: random.Random, path: str, sort: str) -> bytes:
    if sort == "application/json-patch+json":
        document = _operations(chance)
    else:
        document = _object(chance, path)
        for _ in range(chance.choice((0, 1, 1, 2, 3, 6))):
            _break(chance, document)
    text = json.dumps(document, ensure_ascii=chance.random() < 0.5)
    body = text.encode(errors="surrogatepass")
    if chance.random() < 0.08:
        body = _mangled(chance, body)
    return body


def _object(chance: random.Random, path: str) -> JsonObject:
    """Return an object that is nearly valid at a path."""
    name = chance.choice(("a", "b", "a", "b", "default"))
    made: JsonObject = {"metadata": {"name": name, "labels": {"a": "b"}}}
    if "widgets" in path:
        spec = {"size": 3, "tags": ["x"], "entries": [{"name": "n", "value": "v"}]}
        made |= {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "spec": spec}
        made["status"] = {"replicas": 1}
    elif "customresourcedefinitions" in path:
        made |= _crd()
    elif "clusterroles" in path:
        rules = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
        made |= {"rules": rules, "aggregationRule": {"clusterRoleSelectors": [{}]}}
    elif "rolebindings" in path:
        made["subjects"] = [{"kind": "User", "name": "u"}]
        made["roleRef"] = {"kind": "ClusterRole", "name": "r", "apiGroup": ""}
    elif "webhook" in path:
        made["webhooks"] = [_webhook()]
    elif "leases" in path:
        made["spec"] = {
            "holderIdentity": "h",
            "renewTime": "2026-01-01T00:00:00.000000Z",
        }
    elif "events" in path:
        made["involvedObject"] = {"namespace": "default", "name": "n"}
    elif "reviews" in path:
        attributes = {"verb": "get", "resource": "pods"}
        made["spec"] = {"resourceAttributes": attributes, "token": "t"}
    else:
        made["data"] = {"k": "dg=="}
    if chance.random() < 0.2:
        made["metadata"]["finalizers"] = ["x.example.com/y"]
        made["metadata"]["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u"}
        ]
    if chance.random() < 0.1:
        made["metadata"]["managedFields"] = [{"manager": "m", "operation": "Apply"}]
    if chance.random() < 0.2:
        made["preconditions"] = {"uid": "u"}
    return made


def _crd() -> JsonObject:
    spec = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "s": {"type": "string"}},
        "x-kubernetes-validations": [{"rule": "self.n > 1", "message": "m"}],
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.n"}},
        "additionalPrinterColumns": [
            {"name": "N", "type": "integer", "jsonPath": ".spec.n"}
        ],
    }
    names = {"plural": "things", "kind": "Thing"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": names,
            "versions": [version],
        },
    }


def _webhook() -> JsonObject:
    return {
        "name": "a.b.example.com",
        "clientConfig": {"url": "https://127.0.0.1:9/"},
        "rules": [
            {
                "operations": ["CREATE"],
                "apiGroups": ["nobody.example.com"],
                "apiVersions": ["*"],
                "resources": ["*"],
            }
        ],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }


def _break(chance: random.Random, document: Any) -> None:
    """Change, remove or duplicate a random part."""
    places = list(_places(document))
    if not places:
        return
    holder, key = chance.choice(places)
    what = chance.random()
    if what < 0.55:
        holder[key] = _copied(chance.choice(_NASTY))
    elif what < 0.7:
        del holder[key]
    elif what < 0.85:
        nested = holder[key]
        for _ in range(chance.choice((1, 3, 40, 150, 250))):
            nested = [nested] if chance.random() < 0.5 else {"a": nested}
        holder[key] = nested
    elif isinstance(holder, dict):
        holder[str(chance.choice(_NASTY))] = _copied(holder[key])
    else:
        holder.append(_copied(holder[key]))


def _copied(value: Any) -> Any:
    """Return a copy. Numbers beyond 64 bits are kept, so orjson is not used."""
    return json.loads(json.dumps(value))


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Return every (dict or list, key) that holds a value."""
    waiting = [document]
    while waiting:
        holder = waiting.pop()
        pairs = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, value in pairs:
            yield holder, key
            if isinstance(value, (dict, list)):
                waiting.append(value)


def _operations(chance: random.Random) -> Any:
    paths: tuple[str, ...] = (
        "/metadata/labels/a",
        "/spec/size",
        "/spec",
        "/metadata",
        "",
        "/",
        "/a~2",
    )
    paths += (
        "/spec/tags/-",
        "/spec/tags/99",
        "/spec/tags/x",
        "/metadata/name",
        "/kind",
    )
    made = []
    for _ in range(chance.choice((1, 1, 2, 5))):
        operation = {
            "op": chance.choice(
                ("add", "remove", "replace", "move", "copy", "test", "x")
            ),
            "path": chance.choice(paths),
            "from": chance.choice(paths),
            "value": chance.choice(_NASTY),
        }
        if chance.random() < 0.2:
            del operation[chance.choice(list(operation))]
        made.append(operation)
    return made if chance.random() < 0.95 else chance.choice(_NASTY)


def _mangled(chance: random.Random, body: bytes) -> bytes:
    at = chance.randrange(len(body) + 1)
    return chance.choice(
        (
            body[:at],
            body[:at] + b"\xff\xfe" + body[at:],
            body + body,
            b"\xef\xbb\xbf" + body,
            b"[" * 5000,
            b"- " * 5000,
            b"&a [*a, *a]",
            b"!!python/object:os.system x",
            b"k8s\x00" + body[:at],
        )
    )
