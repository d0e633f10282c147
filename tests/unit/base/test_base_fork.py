"""Locks of the whole process that another thread holds at the moment of a fork.

The thread is not in the forked process, so that nobody would give them back there.
"""

import subprocess
import sys

import pytest

# A thread holds the lock until the fork has begun: what is registered last runs first.
# Where the fork does not see to the lock the forked process waits for ever, and is ended.
PROGRAM = """
import os, signal, sys, threading
{setup}

held, forking, over = (threading.Event() for _ in range(3))

def hold():
    with lock():
        held.set()
        {until}.wait(60)

holder = threading.Thread(target=hold)
holder.start()
held.wait()
os.register_at_fork(before=forking.set)
child = os.fork()
if not child:
    signal.alarm(20)
    use()
    os._exit(7)
_, status = os.waitpid(child, 0)
over.set()
holder.join()
use()
print(os.waitstatus_to_exitcode(status))
"""
SECRETS = """
from asoreconcile import redaction

def lock():
    return redaction._REGISTRY._lock

def use():
    redaction.register("Sesame-12345")
    assert "Sesame" not in redaction.redact("the password Sesame-12345")
"""
CLASSES = """
import attrs
from asoreconcile.resources import codec

@attrs.define
class Widget:
    size: int

def lock():
    return codec._LOCK

def use():
    assert codec.codec_of(Widget).decode({"size": 3}).size == 3
"""
NAMES = """
import socket
from contextlib import nullcontext
from asoreconcile.base import call_limit

def lock():
    return call_limit._RESOLVING._lock

def use():
    call = call_limit.Call(10)
    assert call_limit._addresses("localhost", 80, call)
"""


@pytest.mark.parametrize(
    ("setup", "until"),
    [
        (SECRETS, "forking"),  # held by the fork itself, for what it guards
        (CLASSES, "over"),
        (NAMES, "over"),
    ],
    ids=["secrets", "classes", "names"],
)
def test_mg10_a_lock_that_is_held_at_a_fork_is_free_in_the_forked(setup, until):
    program = PROGRAM.format(setup=setup, until=until)
    ran = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (ran.stdout, ran.returncode) == ("7\n", 0), ran.stderr
