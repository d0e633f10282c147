"""Just enough of an API server to be watched: one kind, its discovery, one long stream.

    python tests/bench/watching/api.py EVENTS [--listed] [--lists]

Everything is rendered before the first client comes, so that the server costs next to
nothing while clients are measured. Prints its port. Plain HTTP, on 127.0.0.1.
"""

import argparse
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

GROUP, VERSION, PLURAL, KIND = "example.com", "v1", "accounts", "Account"
ROOT = f"/apis/{GROUP}/{VERSION}"
_FOREVER_SECONDS = 600.0
_PIECE = 1 << 20


def account(number: int) -> dict:
    """An object of 4.6 KB, of which 2 KB are other writers' bookkeeping."""
    name = f"account{number:06}"
    fields = {f"f:property{n}": {f"f:nested{n}": {}, ".": {}} for n in range(30)}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {
            "name": name,
            "namespace": f"team-{number % 50}",
            "uid": f"00000000-0000-4000-8000-{number:012}",
            "resourceVersion": str(1000 + number),
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app.kubernetes.io/part-of": "bench", "tier": f"t{number % 7}"},
            "annotations": {
                "example.com/reconcile-policy": "manage",
                "kubectl.kubernetes.io/last-applied-configuration": "x" * 400,
            },
            "finalizers": ["example.com/finalizer"],
            "ownerReferences": [
                {
                    "apiVersion": f"{GROUP}/{VERSION}",
                    "kind": "Group",
                    "name": f"group{number % 100}",
                    "uid": f"11111111-0000-4000-8000-{number % 100:012}",
                }
            ],
            "managedFields": [
                {
                    "manager": manager,
                    "operation": "Update",
                    "apiVersion": f"{GROUP}/{VERSION}",
                    "time": "2026-01-01T00:00:00Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:spec": fields},
                }
                for manager in ("kubectl",)
            ],
        },
        "spec": {
            "location": "westeurope",
            "sku": {"name": "Standard_LRS"},
            "owner": {"name": f"group{number % 100}"},
            **{f"property{n}": f"value {n} of {name}" for n in range(28)},
        },
        "status": {
            "id": f"/subscriptions/0/resourceGroups/group{number % 100}/x/{name}",
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "observedGeneration": 1,
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                    "reason": "Succeeded",
                }
            ],
            **{f"endpoint{n}": f"https://{name}.e{n}.example.com/" for n in range(8)},
        },
    }


def line(type_: str, obj: dict) -> bytes:
    return json.dumps({"type": type_, "object": obj}).encode() + b"\n"


def compact(document: dict) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


class Documents:
    """What is answered, by path."""

    def __init__(self, count: int, *, listed: bool, streams: bool) -> None:
        self.streams = streams
        objects = [account(number) for number in range(count)]
        self.listed = [compact(obj) for obj in objects] if listed else []
        events = [
            b'{"type":"ADDED","object":' + compact(obj) + b"}\n" for obj in objects
        ]
        self.events = b"".join(events)
        self.version = 1000 + count if listed else 1

    def bookmark(self) -> bytes:
        meta = {
            "resourceVersion": str(self.version),
            "annotations": {"k8s.io/initial-events-end": "true"},
        }
        obj = {"kind": KIND, "apiVersion": f"{GROUP}/{VERSION}", "metadata": meta}
        return line("BOOKMARK", obj)

    def page(self, start: int, limit: int) -> bytes:
        chosen = self.listed[start : start + limit]
        left = start + limit < len(self.listed)
        meta = {"resourceVersion": str(self.version)}
        if left:
            meta["continue"] = str(start + limit)
        head = compact({"kind": f"{KIND}List", "metadata": meta})[:-1]
        return head + b',"items":[' + b",".join(chosen) + b"]}"

    def discovery(self, path: str) -> dict | None:
        """Also the kinds that kopf waits for before it watches any other."""
        groups = [_group(GROUP), _group("apiextensions.k8s.io")]
        definitions = "customresourcedefinitions", "CustomResourceDefinition"
        core = [("namespaces", "Namespace"), ("events", "Event")]
        return {
            "/version": {"major": "1", "minor": "34", "gitVersion": "v1.34.0"},
            "/api": {"kind": "APIVersions", "versions": ["v1"]},
            "/apis": {"kind": "APIGroupList", "groups": groups},
            "/api/v1": _kinds("v1", core),
            "/apis/apiextensions.k8s.io/v1": _kinds("", [definitions]),
            f"/apis/{GROUP}": _group(GROUP),
            ROOT: _kinds(f"{GROUP}/{VERSION}", [(PLURAL, KIND)]),
        }.get(path)


def _group(name: str) -> dict:
    version = {"groupVersion": f"{name}/v1", "version": "v1"}
    return {"name": name, "versions": [version], "preferredVersion": version}


def _kinds(group_version: str, kinds: list[tuple[str, str]]) -> dict:
    verbs = ["get", "list", "watch", "patch", "create", "update", "delete"]
    resources = [
        {
            "name": plural,
            "singularName": plural[:-1],
            "kind": kind,
            "namespaced": plural in (PLURAL, "events"),
            "verbs": verbs,
        }
        for plural, kind in kinds
    ]
    return {
        "kind": "APIResourceList",
        "groupVersion": group_version,
        "resources": resources,
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    documents: Documents

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        if parts.path.endswith(("/namespaces", "/customresourcedefinitions")):
            self._nothing(watched=query.get("watch") == "true")
            return
        if parts.path == f"{ROOT}/{PLURAL}":
            if query.get("watch") in ("1", "true", "True"):
                self._stream(initial=query.get("sendInitialEvents") == "true")
            else:
                start = int(query.get("continue", 0))
                limit = int(query.get("limit", 0)) or 1 << 30
                if query.get("resourceVersion") == "0":
                    limit = 1 << 30  # from memory, and in one piece, as real ones do
                self._answer(200, self.documents.page(start, limit))
            return
        found = self.documents.discovery(parts.path)
        self._answer(200 if found else 404, compact(found or {"kind": "Status"}))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(201, b"{}")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _nothing(self, *, watched: bool) -> None:
        if watched:
            self._begin_stream()
            threading.Event().wait(_FOREVER_SECONDS)
        else:
            meta = {"resourceVersion": "1"}
            self._answer(200, compact({"kind": "List", "metadata": meta, "items": []}))

    def _stream(self, *, initial: bool) -> None:
        documents = self.documents
        if initial and not documents.streams:
            self._answer(400, b'{"kind":"Status","reason":"BadRequest","code":400}')
            return
        self._begin_stream()
        if initial:
            if documents.listed:
                self._send(documents.events)
            self._send(documents.bookmark())
        if not documents.listed:
            self._send(documents.events)
        threading.Event().wait(_FOREVER_SECONDS)

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _send(self, body: bytes) -> None:
        view = memoryview(body)
        for start in range(0, len(body), _PIECE):
            piece = view[start : start + _PIECE]
            self.wfile.write(b"%x\r\n" % len(piece))
            self.wfile.write(piece)
            self.wfile.write(b"\r\n")

    def log_message(self, *_args: object) -> None:
        """Nothing: what is asked is no news."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("events", type=int)
    parser.add_argument("--listed", action="store_true", help="as the first state")
    parser.add_argument("--lists", action="store_true", help="no streamed first state")
    options = parser.parse_args()
    Handler.documents = Documents(
        options.events, listed=options.listed, streams=not options.lists
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)  # noqa: T201 - who starts it reads it
    server.serve_forever()


if __name__ == "__main__":
    main()
