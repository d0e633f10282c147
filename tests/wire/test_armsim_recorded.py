"""The simulator beside recorded Azure: the same write gets an answer of the same shape.

Recorded create, update and delete answers are reduced to their shape (status, monitors,
Retry-After, kind of body, state). For each type the simulator's answer must be one that
was seen.
"""

import json
import re
import tarfile
from collections import Counter, defaultdict

import pytest
from datafolder import data_folder

from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.clock import FakeClock

SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
GROUP = re.compile(r"^/subscriptions/[^/]+/resourcegroups/[^/]+$", re.IGNORECASE)


def path_of(url):
    return re.sub(r"^https?://[^/]+", "", url).split("?")[0]


def type_of(path):
    if GROUP.match(path):
        return "microsoft.resources/resourcegroups"
    _, _, rest = path.lower().rpartition("/providers/")
    namespace, *parts = rest.split("/")
    return "/".join([namespace, *parts[::2]])


def monitors(headers, path, host):
    found = ["async"] if headers.get("Azure-AsyncOperation") else []
    location = headers.get("Location")
    if isinstance(location, list):
        location = location[0]
    if location and location.startswith("/"):
        found.append("self")
    elif location and not location.startswith(host):
        found.append("foreign")
    elif location and path_of(location).lower() == path.lower():
        found.append("resource")
    elif location:
        found.append("location")
    return tuple(found)


def shape(method, status, headers, body, path, host):
    state, kind = "", "object" if isinstance(body, dict) else repr(body)[:6]
    if method == "PUT" and isinstance(body, dict):
        kind = "resource" if {"id", "name"} & body.keys() else "operation"
        properties = body.get("properties")
        if isinstance(properties, dict):
            state = properties.get("provisioningState") or ""
    retry_after = headers.get("Retry-After", "")
    return (status, monitors(headers, path, host), retry_after, kind, state)


@pytest.fixture(scope="module")
def recorded():
    """Shapes by (type, "create" | "update" | "delete"), with one exchange of each."""
    archive = data_folder("recordings-dev.tar.xz")
    seen, examples = defaultdict(Counter), {}
    with tarfile.open(archive) as files:
        for member in files:
            if not member.isfile():
                continue
            present = set()
            for exchange in json.load(files.extractfile(member))["exchanges"]:
                note(exchange, present, seen, examples)
    return seen, examples


def note(exchange, present, seen, examples):
    method, path = exchange["method"], path_of(exchange["url"])
    if method not in ("PUT", "DELETE") or exchange["status"] >= 300:
        return
    if "management.azure.com" not in exchange["url"] or "/providers/" not in path:
        return
    what = "delete"
    if method == "PUT":
        what = "update" if path.lower() in present else "create"
        present.add(path.lower())
    else:
        present.discard(path.lower())
        if exchange["status"] == 204:
            return  # may not have been there
    key = (type_of(path), what)
    host = "https://management.azure.com"
    headers, body = exchange["headers"], exchange["body"]
    if body == "null":
        body = None if method == "PUT" else "null"
    seen[key][shape(method, exchange["status"], headers, body, path, host)] += 1
    examples.setdefault(key, exchange)


def ancestors(path):
    """The ids a resource needs above it, outermost first."""
    scope, _, rest = path.rpartition("/providers/")
    found = [*ancestors(scope), scope] if "/resourcegroups/" in scope.lower() else []
    namespace, *parts = rest.split("/")
    base = f"{scope}/providers/{namespace}"
    ends = range(2, len(parts) - 1, 2)
    return found + ["/".join([base, *parts[:end]]) for end in ends]


def ask(azure, session, exchange, what):
    path = path_of(exchange["url"])
    azure.remove(f"/subscriptions/{SUBSCRIPTION}")
    for id_ in ancestors(path):
        azure.seed(id_, {"location": "westus2"})
    body = exchange["request_body"]
    if what != "create":
        azure.seed(path, body or {"location": "westus2"})
    version = re.search(r"api-version=([^&]+)", exchange["url"])[1]
    answer = session.request(exchange["method"], path, json=body, api_version=version)
    shown = answer.json() if answer.content else None
    if answer.content == b"null":
        shown = "null"
    return shape(
        exchange["method"], answer.status_code, answer.headers, shown, path, azure.url
    )


def test_answers_have_shapes_that_azure_was_seen_to_give(recorded):
    seen, examples = recorded
    differing = {}
    with (
        # The shape of answers is compared: each type is made with a short body.
        ArmServer(
            clock=FakeClock(), lro=60.0, subscription_id=SUBSCRIPTION, strict=False
        ) as azure,
        azure.session() as session,
    ):
        for key, exchange in examples.items():
            given = ask(azure, session, exchange, key[1])
            if given not in seen[key]:
                differing[key] = (given, seen[key].most_common(2))
    assert len(examples) > 400
    assert differing == {}
