"""Clusters, controllers and informers come and go while an application runs."""

import gc
import random
import threading
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from asoreconcile import (
    CONFIG_MAPS,
    SECRETS,
    Application,
    Cluster,
    Controller,
    ControllerOptions,
    Informer,
    KubeClient,
    NotCachedError,
    ObjectKey,
    Result,
    StoppedError,
    WorkQueue,
)
from asoreconcile.runtime.manager import ManagerError
from asoreconcile.testing.kube import KubeServer

WAIT_SECONDS = 20.0


def until(condition):
    over = threading.Event()
    for _ in range(int(WAIT_SECONDS * 100)):
        if condition():
            return
        over.wait(0.01)
    pytest.fail("it did not happen")


def config_map(name):
    return {"metadata": {"namespace": "default", "name": name}}


@pytest.fixture(scope="module")
def west_config(tmp_path_factory):
    with KubeServer() as server:
        path = tmp_path_factory.mktemp("west") / "kubeconfig"
        server.write_kubeconfig(path)
        yield str(path)


@pytest.fixture
def app(server, tmp_path):
    server.write_kubeconfig(tmp_path / "home")
    made = Application("comings", cluster=str(tmp_path / "home"))
    with made.running():
        made.wait_until_ready()
        yield made


def _of_servers():
    """Return the threads of the embedded servers: they see later that a watch ended."""
    return [one for one in threading.enumerate() if "process_request" in one.name]


def thread_count():
    return threading.active_count() - len(_of_servers())


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir())) - len(_of_servers())


def metric_lines(app):
    return generate_latest(app.registry).decode().splitlines()


def test_mg12_a_cluster_that_left_leaves_nothing(app, west_config):
    before = thread_count(), descriptors(), app.readyz.report(verbose=True)
    lines = len(metric_lines(app))
    west = app.cluster("west", west_config)
    seen = []

    def reconcile(request):
        seen.append(request.key.name)
        return Result()

    app.reconcile(west.informer(CONFIG_MAPS), reconcile, name="copies")
    west.client.create(CONFIG_MAPS, config_map("a"))
    until(lambda: "a" in seen)
    west.recorder.event(
        west.client.get(CONFIG_MAPS, ObjectKey("default", "a")), "Normal", "Seen", "x"
    )
    assert app.remove(west) == []
    assert app.remove(west) == []
    with pytest.raises(StoppedError):
        west.client.get(CONFIG_MAPS, ObjectKey("default", "a"))
    until(lambda: thread_count() <= before[0])
    until(lambda: descriptors() <= before[1])
    assert app.readyz.report(verbose=True) == before[2]
    assert not [
        line for line in metric_lines(app) if "copies" in line or "west" in line
    ]
    assert len(metric_lines(app)) == lines
    # The names are free again.
    west = app.cluster("west", west_config)
    app.reconcile(west.informer(CONFIG_MAPS), reconcile, name="copies")
    seen.clear()
    until(lambda: "a" in seen)
    west.client.delete(CONFIG_MAPS, ObjectKey("default", "a"))
    west.close()  # the same
    until(lambda: thread_count() <= before[0])
    assert app.readyz.report(verbose=True) == before[2]


def test_mg12_reconciles_in_flight_end_as_at_a_stop(app):
    began, end = threading.Event(), threading.Event()

    def reconcile(request):
        began.set()
        assert end.wait(WAIT_SECONDS)
        return Result()

    built = app.reconcile(CONFIG_MAPS, reconcile, name="slow")
    app.client.create(CONFIG_MAPS, config_map("a"))
    assert began.wait(WAIT_SECONDS)
    left = app.remove(built, timeout_seconds=0.1)
    assert [line.split(" (")[0] for line in left] == ["slow default/a"]
    end.set()
    assert built.controller.wait_until_ended(WAIT_SECONDS) == []


def test_mg12_an_informer_ends_with_its_last_controller(app):
    def reconcile(request):
        return Result()

    one = app.reconcile(CONFIG_MAPS, reconcile, name="one")
    two = app.reconcile(CONFIG_MAPS, reconcile, name="two").owns(SECRETS)
    app.informer(SECRETS)  # asked for: it stays
    until(lambda: two.controller.has_synced)
    app.remove(one)
    app.cached.list(CONFIG_MAPS)
    app.remove(two)
    assert app.remove(two) == []
    with pytest.raises(NotCachedError):
        app.cached.list(CONFIG_MAPS)
    app.cached.list(SECRETS)
    app.remove(app.informer(SECRETS))
    with pytest.raises(NotCachedError):
        app.cached.list(SECRETS)


def test_mg12_what_was_never_part_of_it_is_refused(app):
    with pytest.raises(ValueError, match="call stop"):
        app.remove(app)
    for other in (None, "west", object()):
        with pytest.raises(TypeError, match="what is"):
            app.remove(other)
    app.cluster("west", app._config)
    with pytest.raises(ManagerError, match="west already"):
        app.cluster("west", app._config)


def come_and_go(app, west_config, times, seed):
    """Join and leave clusters and controllers at random; at most four of each."""
    seeded = random.Random(seed)
    clusters, controllers = {}, {}

    def reconcile(request):
        return Result()

    options = ControllerOptions(max_concurrent_reconciles=2)
    for number in range(times):
        if len(clusters) + len(controllers) < 8 and seeded.random() < 0.6:
            if seeded.random() < 0.5:
                west = clusters[number] = app.cluster(f"west-{number}", west_config)
                if seeded.random() < 0.7:
                    name = f"in-west-{number}"
                    source = west.informer(CONFIG_MAPS)
                    app.reconcile(source, reconcile, name=name, options=options)
            else:
                kind = seeded.choice([CONFIG_MAPS, SECRETS])
                name = f"home-{number}"
                controllers[number] = app.reconcile(kind, reconcile, name=name)
        elif pool := seeded.choice(
            [one for one in (clusters, controllers) if one] or [0]
        ):
            assert app.remove(pool.pop(seeded.choice(list(pool)))) == []
    for one in (*clusters.values(), *controllers.values()):
        assert app.remove(one) == []


def check_flat(app, west_config, times):
    come_and_go(app, west_config, 10, seed=1)
    gc.collect()
    threads, files, lines = thread_count(), descriptors(), len(metric_lines(app))
    alive = instances()
    come_and_go(app, west_config, times, seed=2)
    # The watches of the application itself may use a few threads more by now.
    until(lambda: thread_count() <= threads + 4)
    until(lambda: descriptors() <= files)
    assert len(metric_lines(app)) <= lines
    # Objects that a waiting thread or a cancelled timer still holds.
    assert instances() <= alive + 10


def instances():
    """Return how many parts are in memory."""
    gc.collect()
    parts = (Cluster, Controller, Informer, KubeClient, WorkQueue)
    return sum(isinstance(one, parts) for one in gc.get_objects())


def test_mg12_threads_descriptors_and_metrics_stay_flat(app, west_config):
    check_flat(app, west_config, 40)


@pytest.mark.long
def test_a_thousand_that_come_and_go_leave_nothing(app, west_config):
    check_flat(app, west_config, 1000)
