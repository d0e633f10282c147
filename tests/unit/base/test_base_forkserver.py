"""A manager that tests fork is as one that they start (`tests/forkserver.py`)."""

import json
import os
import signal
import subprocess
import sys

import forkserver
import pytest
from forkserver import ForkedPopen

FACTS = """
import atexit, gc, json, os, random, signal, sys, threading
atexit.register(print, "ended")
print("text", file=sys.stderr)
number = random.random()
print(json.dumps([
    __name__, sys.argv, os.getcwd(), dict(os.environ), sys.flags, sys.path, os.getppid(),
    os.getsid(0) == os.getpgid(0) == os.getpid(), os.listdir("/proc/self/fd"), os.umask(0),
    [str(signal.getsignal(one)) for one in signal.valid_signals()],
    list(signal.pthread_sigmask(signal.SIG_BLOCK, [])), gc.isenabled(),
    [one.name for one in threading.enumerate()], sys.stdin.read(), number,
]))
"""
WAITS = "import signal, sys; print('up', flush=True); signal.pause()"
HANDLES = f"import signal, sys; signal.signal(15, lambda *_: sys.exit(4)); {WAITS}"
WAYS = (subprocess.Popen, ForkedPopen)


def run(way, code, *arguments, end=None, **told):
    """Return the exit code and the texts of a process."""
    process = way(
        [sys.executable, "-P", "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        **told,
    )
    with process:
        if end is not None:
            assert process.stdout.readline() == b"up\n"
            process.send_signal(end)
        out, err = process.communicate(b"given")
        assert process.poll() == process.returncode
        return process.returncode, out.decode(), err.decode()


def test_a_forked_process_finds_what_a_started_one_does(tmp_path):
    told = {"cwd": tmp_path, "env": {**os.environ, "ONLY": "here"}}
    os.environ["ONLY"] = "not there"
    found = [run(way, FACTS, "a", "--b=c", **told) for way in (*WAYS, ForkedPopen)]
    numbers = set()
    for code, out, err in found:
        facts, end = out.splitlines()
        assert (code, end, err) == (0, "ended", "text\n")
        *facts, number = json.loads(facts)
        numbers.add(number)
        assert facts == json.loads(found[0][1].splitlines()[0])[:-1]
    assert len(numbers) == len(found)


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("import sys; sys.exit(3)", None),
        ("import sys; sys.exit('said')", None),
        ("raise ValueError('failed')", None),
        ("import os; os.abort()", None),
        (WAITS, signal.SIGTERM),
        (WAITS, signal.SIGKILL),
        (HANDLES, signal.SIGTERM),
    ],
)
def test_a_forked_process_ends_as_a_started_one_does(code, end):
    started, forked = [run(way, code, end=end) for way in WAYS]
    assert forked[:2] == started[:2]
    assert forked[2].splitlines()[-1:] == started[2].splitlines()[-1:]


def test_what_needs_an_interpreter_of_its_own_is_started(monkeypatch):
    asked = "import sys; print(sys.orig_argv[2], sys.flags.dev_mode)"
    assert run(ForkedPopen, asked)[1] == f"{forkserver.__file__} False\n"
    of_its_own = {**os.environ, "PYTHONDEVMODE": "1"}
    assert run(ForkedPopen, asked, env=of_its_own)[1] == "-c True\n"
    monkeypatch.setattr(forkserver, "_adopts", lambda _wanted: False)
    assert run(ForkedPopen, asked)[1] == "-c False\n"
