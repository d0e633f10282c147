"""A manager in a process of its own, stopped by real signals."""

import http.client
import os
import signal
import socket
import ssl
import subprocess
import sys
from contextlib import closing

import orjson
import pytest

from asoreconcile.testing.throwaway_certificates import certificate_authority

PROGRAM = """
import sys, threading
from asoreconcile.base.clock import SystemClock
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
from asoreconcile.base.clock import SystemClock
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


ELSEWHERE = """
import os, signal, sys, threading
from asoreconcile.base.clock import SystemClock
from asoreconcile.runtime.manager import Manager
from asoreconcile.runtime.runnable import RunnableHooks

def deliver():
    sys.stdin.readline()
    main, seen = threading.main_thread().ident, 0
    while seen < 10_000:  # in a row: then it stands there, and is on no way to it
        at = sys._current_frames()[main].f_code
        seen = seen + 1 if (at.co_name, at.co_filename) == WAITING else 0
        os.sched_yield()
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

WAITING = ("wait", threading.__file__)

threading.Thread(target=deliver, daemon=True).start()
"""

AS_A_MANAGER = """
manager = Manager(clock=SystemClock())
manager.add(RunnableHooks("say", lambda: print("started", flush=True)))
sys.exit(manager.run(signals=True))
"""

AS_A_COMMAND = """
from asoreconcile.azure.cmd.parent_watch import stop_event

with stop_event() as stop:
    print("started", flush=True)
    stop.wait()
"""


FORKED = """
import os, signal, sys
from asoreconcile.base.clock import SystemClock
from asoreconcile.runtime.manager import Manager
from asoreconcile.runtime.runnable import RunnableHooks

def fork():
    print("started", flush=True)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, b".")
        while True:
            signal.pause()
    os.read(reader, 1)
    os.kill(child, signal.SIGTERM)
    print("child", os.waitpid(child, 0)[1], flush=True)

manager = Manager(clock=SystemClock())
manager.add(RunnableHooks("fork", fork))
sys.exit(manager.run(signals=True))
"""


@pytest.fixture
def start():
    processes = []

    def run(*arguments, program=PROGRAM):
        process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdin=subprocess.PIPE,
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
        process.stdin.close()
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


@pytest.mark.parametrize("waiting", [AS_A_MANAGER, AS_A_COMMAND])
def test_mg6_a_signal_that_the_main_thread_does_not_notice_is_heeded(start, waiting):
    """It waits for a lock, and the signal came on another thread, or just before."""
    process = start(program=ELSEWHERE + waiting)
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.wait(20) == 0


def test_mg6_a_signal_to_a_forked_process_is_its_own(start):
    process = start(program=FORKED)
    assert process.stdout.readline() == f"child {signal.SIGTERM.value}\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


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
    """Where it stands is known: it reads a kubeconfig that does not come.

    The kubeconfig ends after the signal: Python handles a signal that arrives just
    before a read when the read ends.
    """
    kubeconfig = tmp_path / "kubeconfig"
    os.mkfifo(kubeconfig)
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "asoreconcile.azure.cmd.asoreconcile",
            "manager",
            "--kubeconfig",
            str(kubeconfig),
        ],
        env={**os.environ, "POD_NAMESPACE": "default"},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            with kubeconfig.open("w"):  # blocks until it reads
                process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "Traceback" not in said


REVIEWING = """
import sys
from pathlib import Path
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.runtime.application import Application
from asoreconcile.webhooks.admission import Allowed
from asoreconcile.webhooks.serving_certificates import FileCertificates

NOWHERE = ClusterConfig("http://127.0.0.1:1", None, authorization=lambda: "")
app = Application("tests", cluster=NOWHERE, grace_seconds=60)
certificates = FileCertificates(Path(sys.argv[1]))
server = app.webhooks("127.0.0.1:0", certificates=certificates)

def decide(request):
    print("inside", flush=True)
    sys.stdin.readline()
    return Allowed()

server.validate("/validate", decide)
app.when_leading("say where", lambda: print(server.port, flush=True))
print("started", flush=True)
sys.exit(app.run())
"""


def is_refused(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except ConnectionRefusedError:
        return True
    except (ConnectionResetError, TimeoutError):
        pass  # it came just as the listener closed: the next one is refused
    return False


def test_mg4_a_review_under_way_is_answered_and_no_further_one_is_taken(
    start, tmp_path
):
    authority = certificate_authority()
    pair = authority.issue(["127.0.0.1"])
    for name, pem in zip(("tls.crt", "tls.key"), pair, strict=True):
        (tmp_path / name).write_bytes(pem)
    process = start(str(tmp_path), program=REVIEWING)
    port = int(process.stdout.readline())
    context = ssl.create_default_context(cadata=authority.pem.decode())
    kind = {"group": "demo.example.com", "version": "v1", "kind": "Widget"}
    review = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {"uid": "u", "kind": kind, "operation": "CREATE", "object": {}},
    }
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context)
    with closing(connection):
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/validate", orjson.dumps(review), headers)
        assert process.stdout.readline() == "inside\n"
        process.send_signal(signal.SIGTERM)
        while not is_refused(port):
            assert process.poll() is None
        process.stdin.write("\n")
        process.stdin.flush()
        answer = orjson.loads(connection.getresponse().read())
    assert answer["response"]["allowed"] is True
    assert process.wait(20) == 0
