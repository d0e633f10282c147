"""Processes that begin with the operator imported, which is most of a manager's start.

Each process that runs tests has a server of its own, which has imported what a manager
does, and forks itself for each start. The new process is a child of the process that
runs the test, which waits for it and signals it as if it had started it.
"""

import atexit
import ctypes
import gc
import importlib
import os
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from asoreconcile.azure.cmd.subprocesses import ChildProcess
from asoreconcile.azure.extensions import registry

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>
_COMMAND = [sys.executable, "-P", "-c"]
_LONGEST = 100_000
# The interpreter and libraries read these once, before or during the imports.
_AT_START = (
    *("PYTHON", "LD_", "LC_", "LANG", "MALLOC_", "OPENSSL_", "PROMETHEUS_", "TZ"),
    "CRYPTOGRAPHY_",
)
# The server's environment: a test may set variables later.
_ENVIRONMENT = dict(os.environ)
_IMPORTED = [
    "prometheus_client",
    "asoreconcile.azure.cmd.asoreconcile",
    "asoreconcile.azure.cmd.manager",
    "asoreconcile.azure.controllers.arm_client_factory",
    "asoreconcile.azure.controllers.azure_operator",
    "asoreconcile.azure.controllers.crd_labels",
    "asoreconcile.azure.controllers.dependencies",
    "asoreconcile.azure.expressions.confinement",
    "asoreconcile.azure.reconcile.engine.reconciler",
    "asoreconcile.kube.kubeconfig",
    "azure.identity",
]


class ForkedPopen(subprocess.Popen[bytes]):
    """A Popen of `python -P -c CODE ARGUMENTS...`, forked from the server into a session
    of its own.

    It is started as any other Popen if it needs an interpreter of its own, or if this
    platform cannot adopt what the server forks.
    """

    def _execute_child(self, args: Any, *rest: Any) -> None:
        _, preexec_fn, _, pass_fds, cwd, env, _, _, _, *more = rest
        given = more[0], more[3], more[5]
        told = dict(os.environ if env is None else env)
        needs_own = preexec_fn or pass_fds or _at_start(told) != _at_start(_ENVIRONMENT)
        if needs_own or args[:3] != _COMMAND or not _adopts(True):
            super()._execute_child(args, *rest)
            return
        files = [own if own >= 0 else n for n, own in enumerate(given)]
        self.pid = _SERVER.fork((args[3:], cwd or Path.cwd(), told), files)
        self._child_created = True
        self._close_pipe_fds(*more[:6])  # type: ignore[attr-defined]


class ForkedProcess(ChildProcess):
    """A `ChildProcess` that is forked from the server."""

    _popen = ForkedPopen


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {n: v for n, v in environment.items() if n.upper().startswith(_AT_START)}


def _adopts(wanted: bool) -> bool:
    """Let orphans among the descendants of this process be its children, or not; return
    whether the platform can.
    """
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    return prctl is not None and prctl(_SUBREAPER, int(wanted), 0, 0, 0) == 0


class _Server:
    """The server of this process, begun with the first start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._channel: socket.socket | None = None

    def fork(self, told: tuple[Any, ...], files: list[int]) -> int:
        """Return the id of a new child, which is told its code and arguments, its folder
        and its environment.
        """
        with self._lock:
            channel = self._channel = self._channel or self._begun()
            # The server's own child ends at once, and leaves us its child.
            _adopts(True)
            try:
                socket.send_fds(channel, [pickle.dumps(told)], files)
                return int(channel.recv(_LONGEST))
            finally:
                _adopts(False)

    def _begun(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                env=_ENVIRONMENT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        # Last first: the server ends when its channel does.
        atexit.register(process.wait)
        atexit.register(ours.close)
        return ours


def _serve(channel: socket.socket) -> str:
    """Fork a child for each request; return, in a child alone, the code that it is to run.

    Ends the process that serves when the other end is closed.
    """
    for name in _IMPORTED:
        importlib.import_module(name)
    registry.builtin_sets()
    gc.freeze()
    while True:
        request, files, _, _ = socket.recv_fds(channel, _LONGEST, 3)
        if not request:
            os._exit(0)
        ready, begun = os.pipe()
        middle = os.fork()
        if not middle:
            parent = os.getpid()
            if os.fork():
                os._exit(0)
            while os.getppid() == parent:
                os.sched_yield()  # until the adoption
            break
        os.close(begun)
        os.waitpid(middle, 0)
        channel.send(os.read(ready, _LONGEST))
        for file in (ready, *files):
            os.close(file)
    (code, *sys.argv[1:]), folder, environment = pickle.loads(request)
    sys.argv[0] = "-c"
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for standard, file in enumerate(files):
        os.dup2(file, standard)
    os.write(begun, str(os.getpid()).encode())
    for file in (ready, begun, *files):
        os.close(file)
    channel.close()
    return code


_SERVER = _Server()

if __name__ == "__main__":
    exec(_serve(socket.socket(fileno=int(sys.argv[1]))), {"__name__": "__main__"})
