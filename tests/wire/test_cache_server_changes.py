"""Informers while the server restarts, and its certificate and our token are renewed."""

import pytest
from heard import Heard
from quickclock import QuickClock

from asoreconcile.base.clock import SystemClock
from asoreconcile.cache.informer import Informer
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import in_cluster
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.testing.kube import KubeServer


class Account:
    """A pod's service account folder, as the kubelet keeps it."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()

    def write(self, server):
        (self.folder / "token").write_text(server.token)
        (self.folder / "ca.crt").write_bytes(server.ca_pem)


@pytest.fixture
def account(tmp_path):
    return Account(tmp_path / "account")


@pytest.fixture
def watched(account, monkeypatch):
    """Watch the ConfigMaps of a server as its pods would: (informer, heard)."""
    running = []

    def watch(server):
        account.write(server)
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        port = server.url.rpartition(":")[2]
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
        config = in_cluster(account.folder, clock=SystemClock())
        client = KubeClient(config, user_agent="tests")
        informer = Informer(client, CONFIG_MAPS, clock=PatientClock())
        running.append((client, informer))
        make(server, account, "first")
        heard = Heard(informer)
        informer.start()
        heard.until_named("first")
        heard.clear()
        return informer, heard

    yield watch
    for client, informer in running:
        assert informer.stop(20) == []
        client.close()


class PatientClock(QuickClock):
    """Pauses of a thousandth: nobody is there while a server restarts."""

    def wait(self, event, timeout_seconds):
        super().wait(event, timeout_seconds)
        return event.wait(timeout_seconds / 1000)


def make(server, account, name):
    account.write(server)
    client = KubeClient(
        in_cluster(account.folder, clock=SystemClock()), user_agent="tests"
    )
    client.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}})
    client.close()


def test_rf2_restarted_server_is_watched_on(account, watched):
    with KubeServer() as server:
        _informer, heard = watched(server)
        server.restart()
        make(server, account, "after")
        heard.until_named("after")
        assert heard.shown() == ["Added after"]
        heard.until_healthy()


def test_wh7_cl7_new_certificate_and_new_token_are_picked_up(
    account, watched, tmp_path
):
    """Another server at the address: its objects are others, whatever their names."""
    with KubeServer() as server:
        informer, heard = watched(server)
        old = informer.get(informer.keys()[0])
        port = int(server.url.rpartition(":")[2])
    with KubeServer(port=port) as server:
        elsewhere = Account(tmp_path / "elsewhere")
        for name in ("first", "second", "third"):
            make(server, elsewhere, name)
        server.forget_changes()
        account.write(server)
        heard.until_named("third")
        assert heard.shown() == [
            "Deleted first",
            "Added first",
            "Added second",
            "Added third",
        ]
        assert not heard.events[0].observed
        assert heard.events[1].entry.uid != old["metadata"]["uid"]
