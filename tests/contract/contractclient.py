"""A plain HTTP client for the contract tests, and their test kind.

Nothing of the project is imported here, so a test means the same on the embedded server
as on any other.
"""

import itertools
import json
import ssl
import time
import urllib.parse
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import attrs
import urllib3

Json = dict[str, Any]
GROUP = "contract.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
_SECONDS = 30.0
_counter = itertools.count()

Found = TypeVar("Found")


def until(ask: Callable[[], Found], holds: Callable[[Found], Any]) -> Found:
    """Repeat a question until the answer holds: a real server needs some time after a
    write.
    """
    end = time.monotonic() + _SECONDS
    while not holds(found := ask()):
        assert time.monotonic() < end, found
    return found


@attrs.frozen
class Answer:
    """A status, headers, and a body, which is parsed if it is JSON."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Json:
        found: Json = json.loads(self.text)
        return found

    @property
    def rv(self) -> str:
        return str(self.json["metadata"]["resourceVersion"])

    @property
    def causes(self) -> list[Json]:
        return list(self.json.get("details", {}).get("causes", []))

    def expect(self, status: int) -> Self:
        assert self.status == status, f"{self.status}: {self.text[:600]}"
        return self

    def refused(self, status: int, reason: str) -> Json:
        """Check that this is a refusal; return its Status object."""
        self.expect(status)
        document = self.json
        assert document["kind"] == "Status"
        assert document["apiVersion"] == "v1"
        assert document["status"] == "Failure"
        assert document["code"] == status
        assert document.get("reason") == reason, document
        return document


class Server:
    """One server, with one identity. Close it, or use it with `with`."""

    def __init__(self, url: str, token: str, authority_pem: str) -> None:
        """Make a client.

        authority_pem: certificates to trust.
        """
        self.url = url.rstrip("/")
        self.token = token
        self.authority_pem = authority_pem
        context = ssl.create_default_context(cadata=authority_pem)
        self._journal: list[tuple[str, Answer]] | None = None
        self._pool = urllib3.PoolManager(
            ssl_context=context, retries=False, maxsize=32, timeout=_SECONDS
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.clear()

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        sort: str = "application/json",
        headers: Mapping[str, str] | None = None,
        **query: Any,
    ) -> Answer:
        sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        stated = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        if sent is not None:
            stated["Content-Type"] = sort
        answer = self._pool.request(
            method, self._address(path, query), body=sent, headers=stated
        )
        # A server may pass on bytes that are not UTF-8.
        text = answer.data.decode("utf-8", "surrogateescape")
        given = Answer(answer.status, answer.headers, text)
        if self._journal is not None:
            self._journal.append((f"{method} {self._address(path, query)}", given))
        return given

    @contextmanager
    def recording(self) -> Iterator[list[tuple[str, Answer]]]:
        """Record all requests of the block with their answers."""
        journal: list[tuple[str, Answer]] = []
        self._journal = journal
        try:
            yield journal
        finally:
            self._journal = None

    def get(self, path: str, **query: Any) -> Answer:
        return self.call("GET", path, **query)

    def post(self, path: str, body: Any, **query: Any) -> Answer:
        return self.call("POST", path, body, **query)

    def put(self, path: str, body: Any, **query: Any) -> Answer:
        return self.call("PUT", path, body, **query)

    def patch(self, path: str, body: Any, sort: str = MERGE, **query: Any) -> Answer:
        return self.call("PATCH", path, body, sort=sort, **query)

    def delete(self, path: str, body: Any = None, **query: Any) -> Answer:
        return self.call("DELETE", path, body, **query)

    def apply(self, path: str, body: Any, manager: str, **query: Any) -> Answer:
        return self.patch(path, body, APPLY, fieldManager=manager, **query)

    @contextmanager
    def watch(self, path: str, **query: Any) -> Iterator[Iterator[Json]]:
        """Yield events as they come, until the block ends."""
        answer = self._pool.request(
            "GET",
            self._address(path, {"watch": "true", "timeoutSeconds": 20} | query),
            headers={"Authorization": f"Bearer {self.token}"},
            preload_content=False,
        )
        try:
            assert answer.status == 200, answer.read()
            yield _events(answer)
        finally:
            answer.close()

    @contextmanager
    def namespace(self) -> Iterator[str]:
        name = f"contract-{uuid.uuid4().hex[:8]}"
        self.post("/api/v1/namespaces", {"metadata": {"name": name}}).expect(201)
        try:
            yield name
        finally:
            self.delete(f"/api/v1/namespaces/{name}")

    def install(self, crd: Json) -> Json:
        """Install a CRD, which may exist already, and wait until it is served."""
        name = crd["metadata"]["name"]
        assert self.post(CRDS, crd).status in (201, 409)
        with self.watch(CRDS, fieldSelector=f"metadata.name={name}") as events:
            next(event for event in events if is_established(event["object"]))
        group, version = crd["spec"]["group"], crd["spec"]["versions"][0]["name"]
        path = f"/apis/{group}/{version}/{crd['spec']['names']['plural']}"
        while self.get(path).status != 200:  # a CRD is established before it is served
            pass
        return self.get(f"{CRDS}/{name}").expect(200).json

    def _address(self, path: str, query: Mapping[str, Any]) -> str:
        encoded = urllib.parse.urlencode(query) if query else ""
        return f"{self.url}{path}?{encoded}" if encoded else self.url + path


def _events(answer: urllib3.BaseHTTPResponse) -> Iterator[Json]:
    rest = b""
    for chunk in answer.stream(amt=None):
        rest += chunk
        *lines, rest = rest.split(b"\n")
        yield from (json.loads(line) for line in lines if line.strip())


def openapi_document(server: Server, group: str) -> str:
    """Return the address of the OpenAPI document of version v1 of a group.

    A kube-apiserver publishes the document of a CRD some time after it serves the kind.
    """

    def entry() -> Json:
        paths: Json = server.get("/openapi/v3").expect(200).json["paths"]
        found: Json = paths.get(f"apis/{group}/v1", {})
        return found

    address: str = until(entry, bool)["serverRelativeURL"]
    return address


def is_established(crd: Json) -> bool:
    conditions = crd.get("status", {}).get("conditions") or []
    return {"type": "Established", "status": "True"} in [
        {"type": c["type"], "status": c["status"]} for c in conditions
    ]


def widgets(namespace: str, name: str = "", subresource: str = "") -> str:
    """Return the path of the test kind's collection, or of one object."""
    path = f"/apis/{GROUP}/v1/namespaces/{namespace}/widgets"
    path += f"/{name}" if name else ""
    return f"{path}/{subresource}" if subresource else path


def config_maps(namespace: str, name: str = "") -> str:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    return f"{path}/{name}" if name else path


def widget(name: str = "", **spec: Any) -> Json:
    name = name or f"w{next(_counter)}"
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": spec or {"size": 1},
    }


def crd(plural: str, kind: str, schema: Json, **version: Any) -> Json:
    """Return a namespaced CRD of the test group with one version.

    version: further fields of the version.
    """
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "shortNames": []},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    **version,
                }
            ],
        },
    }


def widgets_crd() -> Json:
    """Return the kind that most tests use, with something of everything in
    its schema.
    """
    key_value = {"type": "object", "required": ["name"]} | {
        "properties": {"name": {"type": "string"}, "value": {"type": "string"}}
    }
    spec = {
        "size": {"type": "integer", "minimum": 0, "maximum": 100, "default": 1},
        "color": {"type": "string", "enum": ["red", "green", "blue"]},
        "mode": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 10},
        "port": {"x-kubernetes-int-or-string": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "tags": {
            "type": "array",
            "items": {"type": "string"},
            "x-kubernetes-list-type": "set",
        },
        "steps": {"type": "array", "maxItems": 3, "items": {"type": "string"}},
        "entries": {
            "type": "array",
            "items": key_value,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "maybe": {"type": "string", "nullable": True},
        "nested": {
            "type": "object",
            "required": ["must"],
            "properties": {
                "must": {"type": "string"},
                "level": {"type": "integer", "default": 7},
            },
        },
    }
    open_object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {
        "type": "object",
        "required": ["spec"],
        "properties": {
            "spec": {"type": "object", "properties": spec},
            "status": open_object,
        },
    }
    made = crd("widgets", "Widget", schema)
    made["spec"]["names"] |= {"shortNames": ["wd"], "categories": ["contract"]}
    made["spec"]["versions"][0] |= {
        "subresources": {"status": {}},
        "selectableFields": [{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.size"}],
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
    }
    return made
