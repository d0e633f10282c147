"""Start the engine's process, send it requests and enforce the time limit.

The CEL engine is C++ that holds the interpreter's lock while it runs, and one short
expression can need more time and memory than a machine has. So it runs in a process of
its own, which starts with the first expression, is killed if a response is late, and is
replaced for the next request.
"""

import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from asoreconcile.base import jsontext
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.extras import pip_command
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import JsonObject

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

DEADLINE_SECONDS = 2.0
MEMORY_BYTES = 192 * 1024 * 1024
_START_SECONDS = 30.0
# How often to check whether a late process has used up its CPU time.
_PATIENCE = 5
_KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR")

_log = Logger(__name__)


class EngineMissingError(AsoreconcileError):
    """The CEL library is not installed; the message says how to install it."""


class EngineLimitError(AsoreconcileError):
    """There was no result within the limits of time and memory."""


class _Child:
    """One running process and the channel to it."""

    def __init__(self, memory_bytes: int) -> None:
        import multiprocessing
        import subprocess

        self.answered = 0
        self.is_late = False
        self._channel, theirs = multiprocessing.Pipe()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "asoreconcile.azure.expressions.worker_main",
                    str(theirs.fileno()),
                    str(memory_bytes),
                ],
                pass_fds=[theirs.fileno()],
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    def receive(self, within_seconds: float) -> JsonObject | None:
        """Return the next response; None if it is late or the process died.

        within_seconds: limit of computing time. On a busy machine the wait may be a few
        times as long.
        """
        channel: Connection = self._channel
        self.is_late = False
        began = self._worked_seconds()
        left = within_seconds
        try:
            for _ in range(_PATIENCE):
                if channel.poll(left):
                    break
                left = within_seconds - (self._worked_seconds() - began)
                if left <= 0:
                    break
            else:
                left = 0.0
            if left <= 0 and not channel.poll(0):
                self.is_late = True
                return None
            answer = jsontext.loads(channel.recv_bytes())
        except (EOFError, OSError, jsontext.JSONDecodeError):
            return None
        if not isinstance(answer, dict):
            return None
        self.answered += 1
        return answer

    def ask(self, request: bytes, *, within_seconds: float) -> JsonObject | None:
        try:
            self._channel.send_bytes(request)
        except OSError:
            return None
        return self.receive(within_seconds)

    def _worked_seconds(self) -> float:
        """Return how long the process has been computing, else the monotonic clock."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return time.monotonic()
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        self._channel.close()
        self._process.kill()
        self._process.wait()


def _environment() -> dict[str, str]:
    """Return the variables that an interpreter needs to start, without credentials."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@attrs.define(eq=False, kw_only=True)
class EngineProcess:
    """Handles requests one at a time. Safe from any thread, blocking.

    deadline_seconds: limit for one response.
    memory_bytes: the amount by which the process may grow.
    """

    _deadline_seconds: float = DEADLINE_SECONDS
    _memory_bytes: int = MEMORY_BYTES
    _lock: threading.Lock = attrs.field(init=False, factory=threading.Lock)
    _child: _Child | None = attrs.field(init=False, default=None)

    def ask(self, request: JsonObject) -> JsonObject:
        """Return the response to one request. Raises EngineMissingError,
        EngineLimitError.

        A process that has handled requests before may have used its memory for caches:
        if it dies, a new one gets the request once more.
        """
        frame = jsontext.dumps(request)
        with self._lock:
            while True:
                child = self._child or self._start()
                used = child.answered > 1
                answer = child.ask(frame, within_seconds=self._deadline_seconds)
                if answer is not None:
                    return answer
                self._end()
                _log.warning("Ended the expression engine: no answer within its bounds")
                if child.is_late or not used:
                    raise EngineLimitError(
                        "takes too much time or memory: make it do less"
                    )

    def close(self) -> None:
        """End the process; a later request starts another."""
        with self._lock:
            self._end()

    def _start(self) -> _Child:
        child = _Child(self._memory_bytes)
        self._child = child
        greeting = child.receive(_START_SECONDS) or {}
        if "ready" not in greeting:
            self._end()
            raise EngineMissingError(
                "expressions need the CEL engine, which does not start here: "
                f"{pip_command('cel')} ({greeting.get('missing', 'no answer')})"
            )
        return child

    def _end(self) -> None:
        if self._child is not None:
            self._child.end()
            self._child = None
