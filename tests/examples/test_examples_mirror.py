"""The README's example controller, as a process against the embedded API server.

The process refuses to import Azure's packages: who embeds the runtime needs none.
"""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from asoreconcile.base.objects import ObjectKey, key_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.resources import CONFIG_MAPS, EVENTS, NAMESPACES
from asoreconcile.kube.selection import Selection
from asoreconcile.testing.kube import KubeServer

PROGRAM = Path(__file__).with_name("mirror_config_maps.py")
WITHOUT_AZURE = Path(__file__).parent.parent / "withoutazure.py"
COPY = ObjectKey("beta", "colours")


class Cluster:
    def __init__(self, server, folder):
        self.server = server
        self.kubeconfig = folder / "kubeconfig"
        server.write_kubeconfig(self.kubeconfig)
        self.client = KubeClient(load(str(self.kubeconfig)), user_agent="tests")
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, WITHOUT_AZURE, PROGRAM],
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
        )

    def stop(self, number=signal.SIGTERM):
        process, self.process = self.process, None
        process.send_signal(number)
        return process.wait(20)

    def namespace(self, name, **labels):
        meta = {"name": name, "labels": labels}
        self.client.create(NAMESPACES, {"metadata": meta})

    def config_map(self, namespace, name, data, **labels):
        meta = {"namespace": namespace, "name": name, "labels": labels}
        self.client.create(CONFIG_MAPS, {"metadata": meta, "data": data})

    def patch(self, resource, key, body):
        self.client.patch(resource, key, body)

    def wait(self, key, data):
        """Block until a ConfigMap has that data, or is gone for None."""
        page = self.client.list_page(Selection(CONFIG_MAPS, key.namespace))
        found = {key_of(obj): obj for obj in page.items}.get(key)
        if (found and found.get("data")) == data:
            return
        stream = self.client.watch(
            Selection(
                CONFIG_MAPS, key.namespace, field_selector=f"metadata.name={key.name}"
            ),
            resource_version=page.resource_version,
            timeout_seconds=30,
        )
        with closing(stream):
            for type_, obj in stream:
                seen = None if type_ == "DELETED" else obj.get("data")
                if type_ != "BOOKMARK" and seen == data:
                    return
        raise AssertionError(f"{key} never had {data}")

    def wait_event(self, reason):
        stream = self.client.watch(EVENTS, timeout_seconds=30)
        with closing(stream):
            for _, event in stream:
                if event.get("reason") == reason:
                    return event
        raise AssertionError(f"no event {reason}")


@pytest.fixture
def cluster(tmp_path):
    with KubeServer() as server:
        cluster = Cluster(server, tmp_path)
        cluster.namespace("alpha")
        cluster.namespace("beta", mirror="yes")
        yield cluster
        if cluster.process is not None:
            cluster.stop(signal.SIGKILL)
        cluster.client.close()


def test_copies_follow_sources_namespaces_and_their_own_mishaps(cluster):
    cluster.config_map("alpha", "colours", {"a": "red"}, mirror="yes")
    cluster.config_map("alpha", "private", {"a": "red"})
    cluster.start()
    cluster.wait(COPY, {"a": "red"})

    source = ObjectKey("alpha", "colours")
    cluster.patch(CONFIG_MAPS, source, {"data": {"a": None, "b": "blue"}})
    cluster.wait(COPY, {"b": "blue"})

    cluster.patch(CONFIG_MAPS, COPY, {"data": {"b": "tampered"}})
    cluster.wait(COPY, {"b": "blue"})
    cluster.client.delete(CONFIG_MAPS, COPY)
    cluster.wait(COPY, {"b": "blue"})

    cluster.namespace("gamma", mirror="yes")
    cluster.wait(ObjectKey("gamma", "colours"), {"b": "blue"})
    unlabel = {"metadata": {"labels": {"mirror": None}}}
    cluster.patch(NAMESPACES, ObjectKey("", "gamma"), unlabel)
    cluster.wait(ObjectKey("gamma", "colours"), None)

    cluster.patch(CONFIG_MAPS, source, unlabel)
    cluster.wait(COPY, None)
    assert [key_of(o) for o in cluster.client.list_page(CONFIG_MAPS).items] == [
        source,
        ObjectKey("alpha", "private"),
    ]
    assert cluster.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_happened_while_it_was_down_is_found_after_the_start(cluster, number):
    cluster.config_map("alpha", "colours", {"a": "red"}, mirror="yes")
    cluster.config_map("alpha", "shapes", {"a": "disc"}, mirror="yes")
    cluster.start()
    cluster.wait(COPY, {"a": "red"})
    cluster.wait(ObjectKey("beta", "shapes"), {"a": "disc"})
    cluster.stop(number)

    cluster.client.delete(CONFIG_MAPS, ObjectKey("alpha", "colours"))
    cluster.patch(CONFIG_MAPS, ObjectKey("alpha", "shapes"), {"data": {"a": "cone"}})
    cluster.start()
    cluster.wait(COPY, None)
    cluster.wait(ObjectKey("beta", "shapes"), {"a": "cone"})


def test_what_others_made_under_the_name_is_left_alone_and_said(cluster):
    cluster.config_map("beta", "colours", {"mine": "x"})
    cluster.config_map("alpha", "colours", {"a": "red"}, mirror="yes")
    cluster.start()
    event = cluster.wait_event("NameTaken")
    assert event["involvedObject"]["namespace"] == "alpha"
    assert event["message"] == "beta/colours exists"
    found = cluster.client.get(CONFIG_MAPS, COPY)
    assert found["data"] == {"mine": "x"}
