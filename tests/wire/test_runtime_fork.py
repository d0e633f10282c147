"""A process that is forked from one that runs an application.

Nothing runs in it, for a fork takes one thread along; and what it shares with the one it
was forked from, connections and listeners, must go on there as if nothing had been.
"""

import os
import signal

import pytest
from applications import Applications, Noting

from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.testing.kube import KubeServer

ONE = ObjectKey("default", "one")
OF_A_CHILD = 7


class Child:
    """A forked process that does one thing, and is ended in any case."""

    def __init__(self, does):
        self.pid = os.fork()
        if not self.pid:
            code = 1
            try:
                signal.alarm(60)  # it must not outlive the test, whatever it does
                code = does()
            finally:
                os._exit(code)

    def code(self):
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)


@pytest.fixture
def cluster(tmp_path):
    with KubeServer() as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        yield str(tmp_path / "kubeconfig")


@pytest.fixture
def application(cluster):
    applications = Applications(cluster)
    yield applications
    applications.close()


def watching(application):
    app, noting = application.make(health_address="127.0.0.1:0"), Noting()
    app.reconcile(CONFIG_MAPS, noting)
    return app, noting


def create(app, name):
    meta = {"namespace": "default", "name": name}
    app.client.create(CONFIG_MAPS, {"metadata": meta})


def goes_on(app, noting):
    """Whether requests and watches of this process are what they were."""
    create(app, "another")
    key = noting.keys.get(timeout=20)
    return key == ObjectKey("default", "another") and app.healthz.report().status == 200


def test_mg10_a_child_that_leaves_the_block_does_not_wait(application):
    app, noting = watching(application)
    block = app.running()

    def leave():
        block.__exit__(None, None, None)
        return OF_A_CHILD

    with block:
        app.wait_until_ready()
        create(app, "one")
        assert noting.keys.get(timeout=20) == ONE
        assert Child(leave).code() == OF_A_CHILD
        assert goes_on(app, noting)


def test_mg10_a_child_that_closes_it_takes_nothing_from_its_parent(application):
    app, noting = watching(application)

    def close():
        app.stop()
        app.close()
        app.client.close()
        return OF_A_CHILD

    with app.running():
        app.wait_until_ready()
        create(app, "one")
        assert noting.keys.get(timeout=20) == ONE
        assert Child(close).code() == OF_A_CHILD
        assert goes_on(app, noting)


def test_mg10_a_child_is_told_to_make_a_client_of_its_own(application, cluster):
    app, noting = watching(application)

    def ask():
        with pytest.raises(RuntimeError, match="forked"):
            app.client.get(CONFIG_MAPS, ONE)
        own = Applications(cluster).make()
        found = own.client.get(CONFIG_MAPS, ONE)
        own.close()
        return OF_A_CHILD if found["metadata"]["name"] == "one" else 1

    with app.running():
        app.wait_until_ready()
        create(app, "one")
        assert noting.keys.get(timeout=20) == ONE
        assert Child(ask).code() == OF_A_CHILD
        assert goes_on(app, noting)
