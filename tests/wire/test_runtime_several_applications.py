"""Applications of one process, at once and one after the other: none touches another."""

import urllib.request

import pytest
from applications import Applications, Noting, until
from recordedthreads import RecordedThreads

from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.runtime import process_parts
from asoreconcile.testing.kube import KubeServer

ANYWHERE = "127.0.0.1:0"
TOTAL = "controller_runtime_reconcile_total"


@pytest.fixture
def applications(tmp_path, monkeypatch):
    monkeypatch.setattr(process_parts, "Threads", RecordedThreads)
    with KubeServer() as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        made = Applications(str(tmp_path / "kubeconfig"))
        yield made
        made.close()


def leading(applications, lease):
    app, noting = (
        applications.make(leader_election=lease, metrics_address=ANYWHERE),
        Noting(),
    )
    app.reconcile(CONFIG_MAPS, noting)
    return app, noting


def create(app, name):
    meta = {"namespace": "default", "name": name}
    app.client.create(CONFIG_MAPS, {"metadata": meta})


def heard(noting, name):
    return noting.keys.get(timeout=20) == ObjectKey("default", name)


def reconciled(app):
    (endpoint,) = app.endpoints.values()
    address = f"http://127.0.0.1:{endpoint.port}/metrics"
    with urllib.request.urlopen(address, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    (line,) = (x for x in lines if x.startswith(TOTAL) and 'result="success"' in x)
    return float(line.rpartition(" ")[2])


def test_mg2_the_end_of_one_leaves_the_other_as_it_was(applications):
    (one, first), (two, second) = (leading(applications, x) for x in ("one", "two"))
    with one.running():
        with two.running():
            one.wait_until_ready()
            two.wait_until_ready()
            until(lambda: one.leads and two.leads)
            create(one, "both")
            assert heard(first, "both")
            assert heard(second, "both")
        assert two.threads.ended(20), "none of its threads is left, timers included"
        create(one, "alone")
        assert heard(first, "alone")
        assert one.leads
        assert one.healthz.report().status == one.readyz.report().status == 200
        until(lambda: reconciled(one) == 2)
    assert second.keys.empty()
    assert one.threads.ended(20)


def test_mg2_one_after_the_other_leads_by_the_same_lease(applications):
    for name in ("a", "b", "c"):
        app, noting = leading(applications, "same")
        with app.running():
            app.wait_until_ready()
            until(lambda app=app: app.leads)
            create(app, name)
            seen = {noting.keys.get(timeout=20).name for _ in range(ord(name) - 96)}
            assert name in seen
        assert app.threads.ended(20)
