"""The engines of a process that forks: the forked one must leave them alone."""

import os
import subprocess
import sys

import pytest

from asoreconcile.azure.expressions.api import EnginePool
from asoreconcile.testing.clock import FakeClock

# What it forks ends by `sys.exit`, so that what is registered for the end runs; a lock of
# the engine's is held by another thread meanwhile.
PROGRAM = """
import os, signal, sys, threading
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.expressions.api import shared
from asoreconcile.base.objects import GroupVersionKind

GVK = GroupVersionKind("resources.azure.com", "v1api20200601", "ResourceGroup")
version = builtin().version(GVK)
obj = {"metadata": {"name": "rg"}, "spec": {"location": "westus"}}

def asked(text):
    return shared().evaluate(version, text, obj=obj, secrets={})

assert asked("self.spec.location") == "westus"
held, go = threading.Event(), threading.Event()

def hold():
    with shared()._engine._engines[0]._lock:
        held.set()
        go.wait(60)

holder = threading.Thread(target=hold)
holder.start()
held.wait()
child = os.fork()
if not child:
    signal.alarm(30)
    sys.exit(7 if asked("self.metadata.name") == "rg" else 1)
_, status = os.waitpid(child, 0)
go.set()
holder.join()
assert asked("self.spec.location + '!'") == "westus!"
print(os.waitstatus_to_exitcode(status))
"""


def test_mg10_a_forked_process_has_engines_of_its_own_and_ends():
    pytest.importorskip("cel_expr_python", reason="the CEL engine is an extra")
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (ran.stdout, ran.returncode) == ("7\n", 0), ran.stderr


class Engine:
    def __init__(self):
        self.closed = 0

    def ask(self, request):
        return request

    def close(self):
        self.closed += 1


def test_mg10_the_engines_of_another_process_are_refused(monkeypatch):
    made = []

    def make():
        made.append(Engine())
        return made[-1]

    pool = EnginePool(clock=FakeClock(), make=make, processes=1)
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: -1)
        with pytest.raises(RuntimeError, match="forked"):
            pool.ask({}, namespace="default")
        pool.close()
    assert made[0].closed == 0
    assert pool.ask({"a": 1}, namespace="default") == {"a": 1}
    pool.close()
    assert made[0].closed == 1
