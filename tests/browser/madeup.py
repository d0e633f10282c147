"""A server of the page with made-up objects.

The main tests run against a real sandbox. This server has what a sandbox cannot have in
a test's time: 5,000 objects, hostile texts, an answer of 500, a stream that ends, and
the same times in each run.
"""

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

PAGE = Path(__file__).parents[2] / "cmd" / "ui" / "page"
NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
HOSTILE = '<img src=x onerror="document.title=1">'
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'"
)
STATES = (
    *("failed", "ready", "working", "ready", "waiting", "ready", "ready", "warning"),
    *("ready", "ready", "paused", "ready", "ready", "deleting", "ready", "ready"),
)
LEAVES = (
    ("storage.azure.com", "StorageAccount", "store"),
    ("keyvault.azure.com", "Vault", "vault"),
    ("dbforpostgresql.azure.com", "FlexibleServer", "pg"),
    ("network.azure.com", "NetworkInterface", "nic"),
)
WHY = {
    "failed": ("AuthorizationFailed", "The identity may not write here."),
    "warning": ("RequestDisallowedByPolicy", "The policy deny-public refused it."),
    "waiting": ("WaitingForOwner", "Owner is not ready."),
    "working": ("Reconciling", "The resource is in the process of being reconciled."),
}


def made_up(count: int) -> list[dict[str, Any]]:
    """Return rows: groups with a network of subnets, and other objects."""
    rows: list[dict[str, Any]] = []

    def add(
        group: str,
        kind: str,
        namespace: str,
        name: str,
        owner: str | None,
        references: Sequence[str] = (),
    ) -> str:
        state = STATES[(len(rows) + 5) * 7 % len(STATES)]
        reason, message = WHY.get(state, (None, None))
        key = f"{group}/{kind}/{namespace}/{name}"
        row = {
            "key": key,
            "group": group,
            "kind": kind,
            "version": "v1api20240101",
            "namespace": namespace,
            "name": name,
            "state": state,
            "reason": reason,
            "message": message,
            "since": (NOW - timedelta(seconds=100 + len(rows))).isoformat(),
            "owner": owner,
            "references": list(references),
            "armId": f"/subscriptions/0/resourceGroups/{name}",
        }
        rows.append(row)
        return key

    group = 0
    while len(rows) < count:
        group += 1
        space = f"team-{group % 12}"
        root = add("resources.azure.com", "ResourceGroup", space, f"rg-{group}", None)
        net = add("network.azure.com", "VirtualNetwork", space, f"net-{group}", root)
        for part in range(2 + group % 9):
            name = f"subnet-{group}-{part}"
            subnet = add("network.azure.com", "VirtualNetworksSubnet", space, name, net)
        for part in range(3 + group * 5 % 17):
            api, kind, short = LEAVES[(part + group) % 4]
            to = [subnet] if short == "nic" else []
            add(api, kind, space, f"{short}-{group}-{part}", root, to)
    return rows[:count]


class MadeUp:
    """The objects of a server, and switches of its answers."""

    def __init__(
        self, rows: Iterable[dict[str, Any]], *, mode: str = "cluster"
    ) -> None:
        self.rows = {row["key"]: row for row in rows}
        self.mode = mode
        self.fails = False
        self.told: list[dict[str, Any]] = []
        self.ends = 0
        self.news = threading.Condition()

    def tell(self, name: str, data: Any) -> None:
        """Send an event to each page."""
        with self.news:
            self.told.append({"name": name, "data": data})
            self.news.notify_all()

    def change(self, row: dict[str, Any], **values: Any) -> None:
        """Change an object, and tell each page."""
        row |= values
        self.tell("objects", {"version": 2, "changed": [row], "gone": []})

    def end_streams(self) -> None:
        """Refuse the requests of all pages that wait for events."""
        with self.news:
            self.ends += 1
            self.news.notify_all()

    def events(self, last: str, *, at_once: bool) -> dict[str, Any] | None:
        """Return the events after the last ones; None if the request is refused. Waits
        for one, unless it is to answer at once.
        """
        with self.news:
            ends, known = self.ends, int(last or len(self.told))
            if last and not at_once:
                self.news.wait_for(lambda: self.ends > ends or len(self.told) > known)
            if self.ends > ends:
                return None
            return {"last": str(len(self.told)), "events": self.told[known:]}

    def answer(self, path: str, query: Mapping[str, Sequence[str]]) -> Any:
        """Return what a path of the API answers, or None."""
        if path == "object":
            return self._detail(query["key"][0])
        return {
            "about": {
                "mode": self.mode,
                "server": "https://127.0.0.1:6443",
                "user": "reader",
                "namespace": None,
                "writable": False,
                "missing": ["Requests to Azure are known to the manager alone."],
                "faults": [],
            },
            "objects": {"version": 1, "objects": list(self.rows.values())},
            "charts": {
                "queues": [
                    {
                        "kind": "VirtualNetwork",
                        "depth": 19,
                        "history": [abs(40 - number) for number in range(60)],
                    }
                ],
                "budgets": [
                    {"name": "writes of subscription 0", "used": 190, "limit": 200},
                    {"name": "reads of subscription 0", "used": 30, "limit": 250},
                ],
            },
            "requests": {"requests": [request(None, number) for number in range(30)]},
        }.get(path)

    def _detail(self, key: str) -> dict[str, Any] | None:
        row = self.rows.get(key)
        if row is None:
            return None
        is_ready = row["state"] == "ready"
        then = (NOW - timedelta(minutes=3)).isoformat()
        ready = {
            "type": "Ready",
            "status": "True" if is_ready else "False",
            "reason": row["reason"] or "Succeeded",
            "message": row["message"],
        }
        before = {"time": then, "type": "Ready", "status": "False"}
        return {
            "row": row,
            "conditions": [
                {**ready, "severity": "" if is_ready else "Error", "since": then}
            ],
            "history": [
                {**before, "reason": "Reconciling", "message": ""},
                {"time": row["since"], **ready},
            ],
            "explain": {
                "cause": "" if is_ready else "Azure refused the write.",
                "advice": "" if is_ready else "Give the identity the role.",
                "owners": [
                    {
                        "role": "ResourceGroup",
                        "name": f"{row['namespace']}/rg",
                        "state": "Ready",
                    }
                ],
                "inputs": [
                    {
                        "role": "spec.password",
                        "name": f"Secret {HOSTILE}",
                        "state": "missing",
                        "problem": "It is missing.",
                    }
                ],
            },
            "requests": [request(key, number) for number in range(6)],
            "difference": {
                "rows": [
                    difference("location", "westeurope", "westeurope", "westeurope"),
                    difference("tags.owner", HOSTILE, "somebody", HOSTILE),
                ]
            },
            "drift": [{"path": "tags.owner", "about": "Azure has another value."}],
            "events": [
                {
                    "time": then,
                    "type": "Warning",
                    "reason": "Refused",
                    "message": HOSTILE,
                    "count": 3,
                }
            ],
            "nextSync": (NOW + timedelta(minutes=40)).isoformat(),
            "lastSync": then,
            "missing": ["The body of the last PUT is kept in a sandbox only."],
        }


def request(key: str | None, number: int) -> dict[str, Any]:
    """Return one request to Azure of a list of them."""
    path = f"/subscriptions/0/resourceGroups/rg-{number}?api-version=2024-01-01"
    return {
        "time": NOW.isoformat(),
        "key": key,
        "path": path,
        "ms": 12.5,
        "method": ("GET", "PUT", "DELETE", "POST")[number % 4],
        "status": (200, 201, 404, None)[number % 4],
        "body": {"location": HOSTILE} if number % 4 == 1 else None,
    }


def difference(path: str, spec: str, azure: str, put: str) -> dict[str, Any]:
    """Return a row of the difference of three values."""
    values = {"path": path, "spec": spec, "azure": azure, "lastPut": put}
    return {**values, "differs": len({spec, azure, put}) > 1}


def served(state: MadeUp) -> ThreadingHTTPServer:
    """Start a server on a free port; the caller shuts it down."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            if asked.path == "/api/events" and not state.fails:
                query = parse_qs(asked.query, keep_blank_values=True)
                found = state.events(query["last"][0], at_once="at-once" in query)
                # A connection that is closed without an answer is tried again unseen.
                body = {"error": "The stream ended."} if found is None else found
                status = 503 if found is None else 200
                self._send(status, "application/json", json.dumps(body).encode())
            elif asked.path.startswith("/api/"):
                path = asked.path.removeprefix("/api/")
                self._api(path, parse_qs(asked.query))
            else:
                file = PAGE / (Path(asked.path).name or "index.html")
                kind = TYPES.get(file.suffix, "text/html; charset=utf-8")
                self._send(200, kind, file.read_bytes())

        def _api(self, path: str, query: dict[str, list[str]]) -> None:
            found = None if state.fails else state.answer(path, query)
            status = 500 if state.fails else 404 if found is None else 200
            words = "The server fails." if state.fails else "There is no such object."
            body = {"error": words} if found is None else found
            self._send(status, "application/json", json.dumps(body).encode())

        def _send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
