"""An application that is dropped, or ends with a stopped clock, leaves no thread."""

import gc
import threading
import time

from asoreconcile import (
    CONFIG_MAPS,
    Application,
    LeaderElectionOptions,
    LeaseTiming,
    Result,
)
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.kube import KubeServer


def test_th2_a_dropped_application_leaves_no_thread(server, tmp_path):
    server.write_kubeconfig(tmp_path / "kubeconfig")
    before = set(threading.enumerate())
    obj = {"kind": "Thing", "metadata": {"namespace": "default", "name": "a"}}
    for _ in range(5):
        app = Application("dropped", cluster=str(tmp_path / "kubeconfig"))
        app.reconcile(CONFIG_MAPS, lambda request: Result())
        assert list(app.client.list_all(CONFIG_MAPS)) is not None  # sets a timer
        app.recorder.event(obj, "Normal", "Made", "x")
    del app

    def left():
        gc.collect()
        return [
            one.name
            for one in set(threading.enumerate()) - before
            if "process_request" not in one.name  # the server's
        ]

    deadline = time.monotonic() + 20
    while left():
        assert time.monotonic() < deadline, left()
        threading.Event().wait(0.02)


def test_th10_an_end_takes_no_longer_than_its_grace_time(tmp_path):
    """The clock does not move, and the server that has the lease is away."""
    timing = LeaseTiming(5, 1, 0.1)
    with KubeServer() as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        app = Application(
            "stopped",
            cluster=str(tmp_path / "kubeconfig"),
            clock=FakeClock(),
            leader_election=LeaderElectionOptions("stopped", timing=timing),
        )
        app.reconcile(CONFIG_MAPS, lambda request: Result())
        running = app.running()
        running.__enter__()
        app.wait_until_ready()
    began = time.monotonic()
    running.__exit__(None, None, None)
    assert time.monotonic() - began < 20
