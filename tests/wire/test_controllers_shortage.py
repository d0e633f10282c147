"""The operator on a machine that has no descriptors or threads left, for a while.

It says what it is short of, loses nothing, and goes on by itself.
"""

import os
import subprocess
import sys
import time

import pytest
from operation import WAIT_SECONDS, Operation
from scarcedescriptors import few_descriptors
from world import resource_group

from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.resources import LEASES, NAMESPACES
from asoreconcile.runtime.leaderelection.lease import holder_of

LEASE = ObjectKey(
    "azureserviceoperator-system", "controllers-leader-election-azinfra-generated"
)
# Tried often, and kept while the machine is busy.
ELECTION = ("--enable-leader-election", "--leader-election-seconds", "60", "50", "0.2")
SHORT = "[Errno 24] Too many open files"
# The command as it is on the PATH, on a machine whose last thread it has itself.
WITHOUT_THREADS = """
import sys, threading

def refuse(_thread):
    raise RuntimeError("can't start new thread")

threading.Thread.start = refuse
from asoreconcile.azure.cmd.start import asoreconcile
sys.exit(asoreconcile())
"""


@pytest.fixture
def operation(tmp_path):
    with Operation(tmp_path) as running:
        running.client.create(NAMESPACES, {"metadata": {"name": LEASE.namespace}})
        running.install(resource_group())
        yield running


def wait_for_word(operation, text):
    """Block until the log says so."""
    deadline = time.monotonic() + WAIT_SECONDS
    while text not in operation.logs():
        assert time.monotonic() < deadline, f"no {text!r}\n{operation.logs()[-3000:]}"


def ends_well(operation):
    died = operation.log_records("Thread died")
    assert [(one["thread"], one.get("exception")) for one in died] == []
    manager, operation.manager = operation.manager, None
    code = manager.end(WAIT_SECONDS)
    assert code == 0, operation.logs()[-2500:]
    assert holder_of(operation.client.get(LEASES, LEASE)) == ""


def test_le5_a_leader_without_descriptors_leads_on_while_the_lease_lasts(operation):
    """The connection of its lease is gone, and there is none for another."""
    manager = operation.start_manager(*ELECTION)
    operation.apply(resource_group("first"))
    operation.wait_ready(resource_group("first"))
    holder = holder_of(operation.client.get(LEASES, LEASE))
    with few_descriptors(manager.pid):
        operation.cluster.faults.drop("PUT", "/leases/")
        wait_for_word(operation, SHORT)
    operation.apply(resource_group("second"))
    operation.wait_ready(resource_group("second"))
    assert holder_of(operation.client.get(LEASES, LEASE)) == holder
    ends_well(operation)


def test_an_object_that_came_in_a_shortage_is_made_once_it_is_over(operation):
    """The first one: nothing that it needs is loaded or connected yet."""
    manager = operation.start_manager(*ELECTION)
    wait_for_word(operation, '"Leading"')
    group = resource_group()
    with few_descriptors(manager.pid):
        operation.apply(group)
        wait_for_word(operation, SHORT)
    operation.wait_ready(group)
    assert len(operation.requests("PUT", "resourceGroups/rg")) == 1
    ends_well(operation)


def test_a_start_with_too_few_descriptors_is_completed_once_there_are_more(operation):
    """Enough for some connections, and not for all."""
    operation.apply(resource_group())
    manager = operation.start_manager(*ELECTION)
    with few_descriptors(manager.pid, 14):
        wait_for_word(operation, SHORT)
    operation.wait_ready(resource_group())
    ends_well(operation)


# Python runs it at its start, where it is on the path.
SCARCE = """
import os, threading

start = threading.Thread.start

def refused(thread):
    if os.path.exists(os.environ["NO_THREADS"]):
        raise RuntimeError("can't start new thread")
    start(thread)

threading.Thread.start = refused
"""


def test_th8_without_threads_objects_wait_and_a_stop_is_clean(operation, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(SCARCE)
    short = tmp_path / "short"
    operation.start_manager(*ELECTION, PYTHONPATH=str(tmp_path), NO_THREADS=str(short))
    wait_for_word(operation, '"Leading"')
    short.touch()
    operation.apply(resource_group())
    wait_for_word(operation, "can't start new thread")
    short.unlink()
    operation.wait_ready(resource_group())
    short.touch()
    ends_well(operation)


@pytest.mark.parametrize("options", [(), ("--until-stdin-closes",)])
def test_a_start_without_a_thread_ends_with_what_is_short(operation, options):
    """In place of a stack trace."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_THREADS, "manager", *options],
        env={**os.environ, **operation.environment()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert "Error: no thread " in done.stdout
    assert "can't start new thread (ulimit -u" in done.stdout
    assert "Traceback" not in done.stdout
