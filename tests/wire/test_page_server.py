"""The page's server: a cluster and a simulated Azure, asked as a browser asks."""

import json
import re
import socket
import ssl
import stat
import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, contextmanager, suppress

import pytest
import urllib3
from kubeapi import kube_server
from world import World

from asoreconcile.azure.cmd.local_cluster import LocalCluster
from asoreconcile.azure.cmd.sandbox_run import CHAOS
from asoreconcile.azure.cmd.ui.charts import ManagerCharts
from asoreconcile.azure.cmd.ui.cluster_page import ClusterPage
from asoreconcile.azure.cmd.ui.page_server import PageServer
from asoreconcile.azure.cmd.ui.sandbox_page import SandboxPage
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.crds import manifest
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.resources import SECRETS
from asoreconcile.testing.kube.access.users import User

GROUP = "resources.azure.com/ResourceGroup/default/shop"
SERVER = "dbforpostgresql.azure.com/FlexibleServer/default/db"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
RBAC_GROUP = {"apiGroup": "rbac.authorization.k8s.io"}
PASSWORD = "not-to-be-shown"
OBJECTS: tuple[JsonObject, ...] = (
    {
        "apiVersion": "resources.azure.com/v1api20200601",
        "kind": "ResourceGroup",
        "metadata": {"name": "shop"},
        "spec": {"location": "westeurope", "tags": {"team": "shop"}},
    },
    {
        "apiVersion": "dbforpostgresql.azure.com/v20250801",
        "kind": "FlexibleServer",
        "metadata": {"name": "db"},
        "spec": {
            "owner": {"name": "shop"},
            "azureName": "shop-db-2026",
            "location": "westeurope",
            "version": "16",
            "administratorLogin": "shopadmin",
            "administratorLoginPassword": {"name": "admin", "key": "password"},
            "sku": {"name": "Standard_D2ds_v5", "tier": "GeneralPurpose"},
            "storage": {"storageSizeGB": 128},
        },
    },
)


def address_in(file):
    """Return the address that a page's file leads to, with its key."""
    return re.search(r'const address = "(.*)";', file.read_text())[1]


class Browser:
    """Asks a page as its own scripts do."""

    def __init__(self, server):
        self.server = server
        self.url, _, key = address_in(server.file).partition("#once=")
        opened = self.ask("api/open", {}, **{"X-Page-Key": key})
        self.token = json.loads(opened[2])["token"]

    def ask(self, path, body=None, **headers):
        """Return status, headers and text of an answer."""
        request = urllib.request.Request(self.url + path, headers=headers)
        if body is not None:
            request.data = json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()

    def text(self, path):
        return self.ask(path, **{"X-Page-Token": self.token})[2]

    def get(self, path):
        return json.loads(self.text(path))

    def post(self, path, body):
        return json.loads(self.ask(path, body, **{"X-Page-Token": self.token})[2])

    @contextmanager
    def events(self):
        """Yield a function that waits for the next event of a name."""
        last, found = self.get("api/events")["last"], []

        def wait(name):
            nonlocal last
            while True:
                while found:
                    event = found.pop(0)
                    if event["name"] == name:
                        return event["data"]
                answer = self.get(f"api/events?last={last}")
                last = answer["last"]
                found.extend(answer["events"])

        yield wait


def until(holds):
    """Wait until the watches have delivered what holds."""
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def states(page):
    return {row["state"] for row in page.get("api/objects")["objects"]}


def placed(obj):
    return {**obj, "metadata": {"namespace": "default", **obj["metadata"]}}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    with World(folder, control_token="control") as made:
        made.folder = folder
        for obj in OBJECTS:
            kind = obj["apiVersion"].partition("/")[0] + "/" + obj["kind"]
            made.install(kind)
        made.apply(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "admin"},
                "stringData": {"password": PASSWORD},
            }
        )
        for obj in OBJECTS:
            made.apply(obj)
        yield made


@pytest.fixture(scope="module")
def page(world):
    cluster = LocalCluster()
    cluster.client = world.client
    cluster.settings = {"AZURE_SUBSCRIPTION_ID": world.azure.subscription_id}
    cluster._control_token = "control"
    cluster._azure_url = world.azure.url
    trusted = ssl.create_default_context(cafile=str(world.folder / "azure-ca.pem"))
    cluster._pools = {world.azure.url: urllib3.PoolManager(ssl_context=trusted)}
    source = SandboxPage(
        cluster,
        lambda: {gk: kind.version for gk, kind in world.kinds().items()},
        conversion=None,
        metrics_port=1,
        faults=CHAOS,
    )
    with PageServer(source) as server:
        yield Browser(server)
    for pool in cluster._pools.values():
        pool.clear()
    cluster._temporary.cleanup()


def test_one_object_has_its_requests_difference_and_history(world, page):
    with page.events() as wait:
        for _ in range(4):
            for obj in OBJECTS:
                world.run(obj)
            world.clock.advance(60)
        assert wait("request")["method"] == "GET"
        wait("objects")
    until(lambda: states(page) == {"ready"})
    until(lambda: '"PUT"' in page.text(f"api/object?key={SERVER}"))
    detail = page.get(f"api/object?key={SERVER}")
    assert detail["row"]["owner"] == GROUP
    put = next(one for one in detail["requests"] if one["method"] == "PUT")
    assert put["key"] == SERVER
    assert put["body"]["properties"]["administratorLoginPassword"] == "***"
    rows = {row["path"]: row for row in detail["difference"]["rows"]}
    assert rows["properties/storage/storageSizeGB"] == {
        "path": "properties/storage/storageSizeGB",
        "spec": 128,
        "azure": 128,
        "lastPut": 128,
        "differs": False,
    }
    (ready,) = (one for one in detail["conditions"] if one["type"] == "Ready")
    assert ready["reason"] == "Succeeded"
    assert detail["history"][-1]["reason"] == "Succeeded"
    assert detail["explain"]["owners"][0]["name"] == "default/shop"
    assert detail["nextSync"] is not None
    assert detail["missing"] == []
    everything = page.text(f"api/object?key={SERVER}") + page.text("api/requests")
    assert PASSWORD not in everything
    assert "Bearer" not in everything

    # Another client changes Azure: spec, Azure and the last PUT are three values.
    body = world.azure.resources()[detail["row"]["armId"]]
    body["properties"]["storage"]["storageSizeGB"] = 256
    world.azure.seed(detail["row"]["armId"], body)
    changed = page.get(f"api/object?key={SERVER}")
    (row,) = (row for row in changed["difference"]["rows"] if row["differs"])
    assert (row["spec"], row["azure"], row["lastPut"]) == (128, 256, 128)
    assert changed["drift"][0]["path"] == row["path"]


def test_a_sandbox_is_changed_by_its_buttons_and_nothing_else(world, page):
    answer = page.post("api/faults/tag", {"on": True})
    assert [one["name"] for one in answer["faults"] if one["on"]] == ["tag"]
    assert [one["on"] for one in page.get("api/about")["faults"]].count(True) == 1
    page.post("api/faults/tag", {"on": False})
    text = """
apiVersion: resources.azure.com/v1api20200601
kind: ResourceGroup
metadata: {name: from-the-page}
spec: {location: westeurope}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: other}
"""
    results = page.post("api/apply", {"yaml": text})["results"]
    key = "resources.azure.com/ResourceGroup/default/from-the-page"
    assert [(one["outcome"], one["key"]) for one in results] == [
        ("created", key),
        ("refused", None),
    ]
    again = page.post("api/apply", {"yaml": text})["results"]
    assert again[0]["outcome"] == "unchanged"
    assert "line:2" in page.post("api/apply", {"yaml": "a: 1\n- b\n"})["error"]
    with page.events() as wait:
        while not any(one["key"] == key for one in page.get("api/objects")["objects"]):
            wait("objects")
        assert page.post("api/delete", {"key": key}) == {}
        while key not in wait("objects")["gone"]:
            pass
    for wrong in ("v1/Secret/default/admin", "", "a/b", "/Namespace//default"):
        assert "no such object" in page.post("api/delete", {"key": wrong})["error"]
    assert world.client.get(SECRETS, ObjectKey("default", "admin"))


TOKEN = {"X-Page-Token": "TOKEN"}


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        ("", None, {}, 200),
        ("page/main.js", None, {}, 200),
        ("api/objects", None, {}, 403),
        ("api/objects", None, TOKEN, 200),
        ("api/objects", None, {"X-Page-Token": "guessed"}, 403),
        ("api/objects", None, {"Cookie": "page-token=TOKEN"}, 403),
        ("api/objects?token=TOKEN", None, {}, 403),
        ("api/events", None, {}, 403),
        ("api/open", {}, {"X-Page-Key": "guessed"}, 403),
        ("api/open", {}, {"X-Page-Key": ""}, 403),
        ("api/open", {}, {}, 403),
        ("api/open", {"a": "b" * 100}, {}, 413),
        ("", None, {"Host": "attacker.example"}, 403),
        ("api/objects", None, {**TOKEN, "Host": "attacker.example"}, 403),
        ("api/objects", None, {**TOKEN, "Host": "127.0.0.1:1"}, 403),
        ("api/objects", None, {**TOKEN, "Origin": "https://attacker.example"}, 403),
        ("api/objects", None, {**TOKEN, "Origin": "null"}, 403),
        ("api/faults/tag", {"on": True}, {}, 403),
        ("api/faults/tag", {"on": True}, {"X-Page-Token": "guessed"}, 403),
        ("api/apply", {"yaml": "x" * (2 << 20)}, TOKEN, 413),
        ("api/faults/none", {"on": True}, TOKEN, 404),
        ("api/apply", {"yaml": 3}, TOKEN, 404),
        ("api/apply", ["a list"], TOKEN, 400),
        ("page/main.js", {"on": True}, TOKEN, 404),
        ("page/../page_server.py", None, TOKEN, 404),
        ("page/%2e%2e/page_server.py", None, {}, 403),
        ("page/%2e%2e/page_server.py", None, TOKEN, 404),
        ("page//etc/passwd", None, TOKEN, 404),
        ("api/nothing", None, TOKEN, 404),
        ("api/object?key=v1/Secret/default/admin", None, TOKEN, 404),
        ("api/objects?" + "a&" * 20, None, TOKEN, 400),
    ],
)
def test_only_the_page_of_this_machine_is_answered(page, path, body, headers, status):
    path = path.replace("TOKEN", page.token)
    headers = {
        name: value.replace("TOKEN", page.token) for name, value in headers.items()
    }
    found, answered, text = page.ask(path, body, **headers)
    assert found == status
    assert "script-src 'self'" in answered["Content-Security-Policy"]
    assert "unsafe" not in answered["Content-Security-Policy"]
    assert answered["X-Content-Type-Options"] == "nosniff"
    assert "Set-Cookie" not in answered
    if status >= 400:
        assert json.loads(text)["error"].endswith(".")


def test_a_page_that_was_cut_off_is_answered_at_once(page):
    last = page.get("api/events?last=")["last"]
    began = time.monotonic()
    assert page.get(f"api/events?last={last}&at-once=")["last"] == last
    assert time.monotonic() - began < 5


def test_a_key_is_good_once_and_its_file_is_the_user_s(page):
    file = page.server.file
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    before = address_in(file)
    another = Browser(page.server)
    assert another.token != page.token
    assert another.get("api/about") == page.get("api/about")
    assert address_in(file) != before
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    key = {"X-Page-Key": before.partition("#once=")[2]}
    status, _, text = page.ask("api/open", {}, **key)
    assert (status, "open the file again" in text) == (403, True)


def test_a_body_is_not_read_without_a_token(page):
    port = int(page.server.origin.rpartition(":")[2])
    head = (
        f"POST /api/apply HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Length: {1 << 20}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), 10) as stranger:
        stranger.sendall(head.encode())
        # Nothing of the body was sent yet.
        assert stranger.recv(100).startswith(b"HTTP/1.1 403 ")


def test_a_head_has_a_limit(page):
    port = int(page.server.origin.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), 10) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n" + b"A: " + b"a" * (32 << 10))
        with suppress(ConnectionError):
            assert stranger.recv(100) == b""


def test_strangers_who_hold_connections_keep_the_user_out_of_nothing(page):
    port = int(page.server.origin.rpartition(":")[2])
    with ExitStack() as held:
        for _ in range(300):
            stranger = socket.create_connection(("127.0.0.1", port), 10)
            held.enter_context(stranger)
            with suppress(ConnectionError):
                stranger.sendall(b"POST /api/apply HTTP/1.1\r\n")
        assert page.get("api/about")["mode"] == "sandbox"
        assert threading.active_count() < 200


def test_a_cluster_is_read_with_the_users_rights_and_the_page_says_what_lacks(
    world,
):
    page = ClusterPage(world.client, server="https://cluster", user="ann")
    with PageServer(page) as server:
        browser = Browser(server)
        until(lambda: "row" in browser.get(f"api/object?key={GROUP}"))
        detail = browser.get(f"api/object?key={GROUP}")
        assert "lastPut" not in detail["difference"]["rows"][0]
        assert any("last PUT" in sentence for sentence in detail["missing"])
        assert "only reads" in browser.post("api/delete", {"key": GROUP})["error"]
    assert world.read(OBJECTS[0])


def test_what_a_user_may_not_read_is_a_sentence(tmp_path):
    groups = builtin().kind(GroupKind("resources.azure.com", "ResourceGroup"))
    networks = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
    with kube_server(rbac=True, users=[("anns-token", User("ann"))]) as (kube, admin):
        for kind in (groups, networks):
            crd = manifest(kind, kind.version().gvk.version)
            admin.post(CRDS, crd).expect(201)
        rule = {"apiGroups": [groups.group], "resources": ["*"], "verbs": ["*"]}
        role = {"metadata": {"name": "groups"}, "rules": [rule]}
        admin.post(f"{RBAC}/clusterroles", role).expect(201)
        binding = {
            "metadata": {"name": "ann"},
            "roleRef": {**RBAC_GROUP, "kind": "ClusterRole", "name": "groups"},
            "subjects": [{**RBAC_GROUP, "kind": "User", "name": "ann"}],
        }
        admin.post(f"{RBAC}/clusterrolebindings", binding).expect(201)
        text = kube.kubeconfig_text().replace(kube.token, "anns-token")
        (tmp_path / "kubeconfig").write_text(text)
        client = KubeClient(load(str(tmp_path / "kubeconfig")), user_agent="page")
        client.create(resource_of(groups.version()), placed(OBJECTS[0]))
        with PageServer(ClusterPage(client, server=kube.url)) as server:
            page = Browser(server)
            until(lambda: len(page.get("api/about")["missing"]) > 1)
            until(lambda: "row" in page.get(f"api/object?key={GROUP}"))
            (sentence,) = (
                s for s in page.get("api/about")["missing"] if "VirtualNetwork" in s
            )
            assert "forbidden" in sentence.lower()
            detail = page.get(f"api/object?key={GROUP}")
            assert any("Events are not shown" in one for one in detail["missing"])
            assert "may not read" in detail["explain"]["credential"]
        client.close()


def test_queues_and_budgets_are_read_from_metrics():
    charts = ManagerCharts(1)
    text = """
workqueue_depth{controller="a",name="a",priority="0"} 2.0
workqueue_depth{controller="a",name="a",priority="1"} 1.0
asoreconcile_azure_rate_limit_remaining{limit="writes",subscription="s"} 150.0
"""
    assert charts.take(text)
    charts.take(text.replace("150.0", "100.0"))
    assert charts.document == {
        "queues": [{"kind": "a", "depth": 3, "history": [3, 3]}],
        "budgets": [{"name": "writes of s", "used": 50.0, "limit": 150.0}],
    }
