"""A manager in a process of its own, stopped by real signals."""

import os
import signal
import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading
from asoreconcile.clock import SystemClock
from asoreconcile.runtime.manager import Manager

class Service:
    name = "service"
    def start(self):
        print("started", flush=True)
    def stop(self, timeout_seconds):
        print("stopping", flush=True)
        if "hang" in sys.argv:
            threading.Event().wait(60)
        return []

manager = Manager(clock=SystemClock())
manager.add(Service())
sys.exit(manager.run(signals=True))
"""


TWICE = """
import signal, sys
from asoreconcile.clock import SystemClock
from asoreconcile.runtime.manager import Manager
from asoreconcile.runtime.runnable import RunnableHooks

before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
for _ in range(2):
    manager = Manager(clock=SystemClock())
    manager.add(RunnableHooks("say", lambda: print("started", flush=True)))
    code = manager.run(signals=True)
    print("stopped", code, flush=True)
after = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
print("as before" if after == before else after, flush=True)
"""


@pytest.fixture
def start():
    processes = []

    def run(*arguments, program=PROGRAM):
        process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        assert process.stdout.readline() == "started\n"
        return process

    yield run
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT], ids=lambda n: n.name
)
def test_mg6_the_first_signal_stops_cleanly(start, number):
    process = start()
    process.send_signal(number)
    assert process.stdout.readline() == "stopping\n"
    assert process.wait(20) == 0


def test_mg6_the_second_signal_ends_the_process_at_once(start):
    process = start("hang")
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "stopping\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 1


def test_mg6_a_process_may_run_again_and_gets_its_signals_back(start):
    process = start(program=TWICE)
    for said in ("stopped 0\n", "started\n", "stopped 0\n", "as before\n"):
        if said == "stopped 0\n":
            process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == said
    assert process.wait(20) == 0


STARTING = """
import sys
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.runtime.application import Application

NOWHERE = ClusterConfig("http://127.0.0.1:1", None, authorization=lambda: "")
app = Application("tests", cluster=NOWHERE)
app.on_close(lambda: print("closed", flush=True))

def step():
    print("started", flush=True)
    app.manager.stopping.wait(60)

app.before_start("wait", step)
app.before_start("never", lambda: print("another step", flush=True))
sys.exit(app.run())
"""


def test_mg6_a_signal_during_a_step_before_the_start_is_a_stop_too(start):
    process = start(program=STARTING)
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "closed\n"
    assert process.wait(20) == 0


def test_mg6_the_operator_heeds_a_signal_before_anything_is_started(tmp_path):
    """Where it stands is known: it reads a kubeconfig that does not come."""
    kubeconfig = tmp_path / "kubeconfig"
    os.mkfifo(kubeconfig)
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "asoreconcile.cmd.asoreconcile",
            "manager",
            "--kubeconfig",
            str(kubeconfig),
        ],
        env={**os.environ, "POD_NAMESPACE": "default"},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with kubeconfig.open("w"):  # blocks until it reads
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert "Traceback" not in said
