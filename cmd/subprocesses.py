"""Child processes that end with this process: terminated first, then killed."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from asoreconcile.base.errors import AsoreconcileError

_GRACE_SECONDS = 5.0
_STEP_SECONDS = 0.05
_TAIL_LINES = 20
_START = "from asoreconcile.azure.cmd.asoreconcile import main; main()"


class ChildError(AsoreconcileError):
    """A child process ended unexpectedly; the text has its last output."""


class ChildProcess:
    """One `asoreconcile` subcommand as a process.

    It has a session of its own, so that Ctrl-C reaches only the parent, which ends its
    children in order. Its stdin is a pipe, so that it ends even if the parent is
    killed.
    """

    # Tests have one that begins sooner.
    _popen: type[subprocess.Popen[bytes]] = subprocess.Popen

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str],
        log_path: Path,
    ) -> None:
        self.name = " ".join(arguments[:2])
        self._log_path = log_path
        self._asked = False
        # -P: the folder in which a person starts it holds no code of ours.
        command = [sys.executable, "-P", "-c", _START, *arguments]
        with log_path.open("wb") as log:
            self._process = self._popen(
                [*command, "--until-stdin-closes"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id; after the end it may belong to another process."""
        return self._process.pid

    def check(self) -> None:
        """Raise ChildError if the process has ended."""
        code = self._process.poll()
        if code is not None:
            lines = self._log_path.read_text(errors="replace").splitlines()
            tail = "\n".join(lines[-_TAIL_LINES:])
            message = f"{self.name} ended with exit code {code}:\n{tail}"
            raise ChildError(message)

    def wait_for_file(self, path: Path, timeout_seconds: float) -> None:
        """Block until the child has written a file. Raises ChildError."""
        deadline = time.monotonic() + timeout_seconds
        while not (path.exists() and path.stat().st_size):
            self.check()
            if time.monotonic() > deadline:
                message = f"{self.name} did not start within {timeout_seconds:g} s"
                raise ChildError(message)
            time.sleep(_STEP_SECONDS)

    def kill(self) -> None:
        """Kill the process (SIGKILL). Does not wait."""
        self._process.kill()

    def ask_to_end(self) -> None:
        """Terminate the process (SIGTERM), once. Does not wait."""
        # Once: a second SIGTERM ends a manager without its grace.
        if not self._asked and self._process.poll() is None:
            self._process.terminate()
        self._asked = True

    def end(self, grace_seconds: float = _GRACE_SECONDS) -> int:
        """Terminate the process, and kill it if it does not end. Blocks; returns the
        exit code.
        """
        self.ask_to_end()
        try:
            self._process.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        # Last: the child takes a closed stdin for the end of its parent.
        if self._process.stdin is not None:
            self._process.stdin.close()
        return self._process.returncode
