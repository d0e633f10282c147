"""What a process shows of itself to who may read its metrics."""

import json
import ssl
import threading
import urllib.error
import urllib.request
from queue import Queue

import pytest
from applications import Applications, until

from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.runtime.debug import DebugPages
from asoreconcile.runtime.reconciler import Result
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.kube import KubeServer

HIDDEN = "open-sesame-1234"


@pytest.fixture
def server():
    with KubeServer() as server:
        yield server


@pytest.fixture
def application(server, tmp_path):
    server.write_kubeconfig(tmp_path / "kubeconfig")
    applications = Applications(str(tmp_path / "kubeconfig"))
    yield applications
    applications.close()


def asked(url, token=""):
    """Status and text."""
    context = ssl._create_unverified_context()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30, context=context) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


class Held:
    """A reconciler that stays in each reconcile until it is let go."""

    def __init__(self):
        self.entered, self.go_on = Queue(), threading.Event()

    def reconcile(self, request):
        secret = HIDDEN
        self.entered.put(request.key.name)
        self.go_on.wait(20)
        return Result() if secret else None


def create(app, name, **data):
    meta = {"namespace": "default", "name": name}
    app.client.create(CONFIG_MAPS, {"metadata": meta, "data": data})


def test_all_of_it_is_shown_to_who_may_read_the_metrics(application, server):
    app = application.make(metrics_address="127.0.0.1:0", secure_metrics=True)
    held = Held()
    app.reconcile(CONFIG_MAPS, held, name="holder")
    create(app, "one", key=HIDDEN)
    create(app, "two")
    with app.running():
        app.wait_until_ready()
        first = held.entered.get(timeout=20)
        (endpoints,) = app.endpoints.values()
        base = f"https://localhost:{endpoints.port}/debug"
        pages = {}
        for name in ("", "/threads", "/reconciles", "/queues", "/caches"):
            code, pages[name] = asked(base + name, server.token)
            assert code == 200
        code, pages["/profile"] = asked(f"{base}/profile?seconds=0.1", server.token)
        assert code == 200
        held.go_on.set()
    assert pages[""].split() == [
        f"/debug/{name}"
        for name in ("caches", "profile", "queues", "reconciles", "threads")
    ]
    (running,) = json.loads(pages["/reconciles"])["holder"]
    assert (running["namespace"], running["name"]) == ("default", first)
    assert running["reconcileID"]
    assert running["seconds"] >= 0
    assert f"({running['thread']})" in pages["/threads"]
    assert "self.go_on.wait(20)" in pages["/threads"]
    queue = json.loads(pages["/queues"])["holder"]
    assert (queue["ready"], queue["workers"], queue["synced"]) == (1, 1, True)
    cache = json.loads(pages["/caches"])["ConfigMap"]
    assert cache["objects"] == 2
    assert cache["bytes"] > 200
    stack = next(
        line
        for line in pages["/profile"].splitlines()
        if "Held" in line or "test_runtime_debug.reconcile" in line
    )
    assert stack.startswith("holder-worker;")
    assert int(stack.rpartition(" ")[2]) > 0
    # Names of objects and places in the code: no contents, no variables.
    assert not [name for name, text in pages.items() if HIDDEN in text]


def test_nobody_else_is_shown_anything(application, server):
    app = application.make(metrics_address="127.0.0.1:0", secure_metrics=True)
    with app.running():
        app.wait_until_ready()
        (endpoints,) = app.endpoints.values()
        base = f"https://localhost:{endpoints.port}/debug"
        for name in ("", "/threads", "/profile?seconds=1"):
            assert asked(base + name)[0] == 401
            assert asked(base + name, "nobody's")[0] == 401
        assert asked(f"{base}/heap", server.token)[0] == 404


def test_plain_metrics_have_no_debug_pages(application):
    app = application.make(metrics_address="127.0.0.1:0")
    with app.running():
        app.wait_until_ready()
        (endpoints,) = app.endpoints.values()
        base = f"http://127.0.0.1:{endpoints.port}"
        assert asked(f"{base}/metrics")[0] == 200
        for name in ("", "/threads", "/profile"):
            assert asked(f"{base}/debug{name}")[0] == 404


def test_a_pod_needs_a_role_for_it(tmp_path):
    with KubeServer(rbac=True) as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        applications = Applications(str(tmp_path / "kubeconfig"))
        app = applications.make(metrics_address="127.0.0.1:0", secure_metrics=True)
        scraper = server.add_service_account("default", "scraper")
        group = "rbac.authorization.k8s.io"
        rule = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
        role = {"apiVersion": f"{group}/v1", "metadata": {"name": "scraper"}}
        app.apply(None, {**role, "kind": "ClusterRole", "rules": [rule]})
        subject = {"kind": "ServiceAccount", "name": "scraper", "namespace": "default"}
        named = {"apiGroup": group, "kind": "ClusterRole", "name": "scraper"}
        binding = {"subjects": [subject], "roleRef": named}
        app.apply(None, {**role, "kind": "ClusterRoleBinding", **binding})
        with app.running():
            app.wait_until_ready()
            (endpoints,) = app.endpoints.values()
            base = f"https://localhost:{endpoints.port}"
            until(lambda: asked(f"{base}/metrics", scraper)[0] == 200)
            assert asked(f"{base}/debug/threads", scraper)[0] == 403
        applications.close()


@pytest.mark.parametrize("seconds", ["x", "0", "-1", "61", "nan"])
def test_a_profile_of_no_time_is_refused(seconds):
    pages = DebugPages(dict, clock=FakeClock())
    assert pages.answer("/debug/profile", {"seconds": [seconds]}).status == 400


def test_one_profile_is_taken_at_a_time_and_a_stop_ends_it():
    clock = FakeClock()
    pages = DebugPages(dict, clock=clock)
    answers = Queue()
    thread = threading.Thread(
        target=lambda: answers.put(pages.answer("/debug/profile", {}))
    )
    thread.start()
    until(pages._profiling.locked)
    assert pages.answer("/debug/profile", {}).status == 429
    pages.stop()
    clock.advance(1)
    first = answers.get(timeout=20)
    thread.join()
    assert first.status == 200
    assert b"MainThread;" in first.body
