"""The record of a newcomer's steps, and the sandbox that some of them need."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SECONDS = 300


class TrialError(Exception):
    """A result that differs from the expected one."""


class Trial:
    """The steps so far, with their durations."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder = folder
        self.clone = folder / "clone"
        self.rows: list[tuple[str, str, str, float, float]] = []
        home = folder / "home"
        home.mkdir()
        (folder / "tmp").mkdir()
        kept = {k: v for k, v in os.environ.items() if k.startswith(("PIP_", "SSL_"))}
        kept |= {k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")}
        self.environment = {
            **kept,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "TMPDIR": str(folder / "tmp"),
            "ASORECONCILE_PYTHON": python,
            "LANG": "C.UTF-8",
        }

    def step(self, group: str, what: str, do: Callable[[], str | None]) -> bool:
        """Run one step and record its result, with the note that it returns; return
        whether it succeeded.
        """
        print(f"{group}: {what} ...", file=sys.stderr, flush=True)
        wall, cpu = time.monotonic(), cpu_seconds()
        try:
            note = do() or ""
            result = f"ok {note}".rstrip()
        except (TrialError, subprocess.TimeoutExpired, OSError) as error:
            result = f"FAILED: {' '.join(str(error).split())[:300]}"
        spent = time.monotonic() - wall, cpu_seconds() - cpu
        self.rows.append((group, what, result, *spent))
        return not result.startswith("FAILED")

    def run(
        self,
        *command: str,
        says: str = "",
        code: int = 0,
        stdin: str = "",
        more: Mapping[str, str] | None = None,
    ) -> str:
        """Run a command, and return its output.

        Raises TrialError if the command ends in another way than expected.
        """
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            cwd=self.clone,
            env={**self.environment, **(more or {})},
            timeout=SECONDS,
            check=False,
        )
        output = done.stdout + done.stderr
        if done.returncode != code:
            raise TrialError(
                f"{command[0]}: exit code {done.returncode}: {output[-600:]}"
            )
        if says not in output:
            raise TrialError(f"{command[0]} does not say {says!r}: {output[-600:]}")
        return output

    def runs(self, group: str, what: str, *command: str, **expected: Any) -> bool:
        """Run a command as a step; expected: the other arguments of `run`."""

        def do() -> None:
            self.run(*command, **expected)

        return self.step(group, what, do)

    def table(self) -> str:
        head = ("STEP", "WHAT", "RESULT", "SECONDS", "CPU")
        cells = [
            head,
            *((g, w, r, f"{s:.1f}", f"{c:.1f}") for g, w, r, s, c in self.rows),
        ]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(
            "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
            for row in cells
        )


def cpu_seconds() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


@contextmanager
def sandbox(trial: Trial) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A running sandbox with all kinds, and its kubeconfig."""
    with subprocess.Popen(
        ["hack/sandbox"],
        cwd=trial.clone,
        env={**trial.environment, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        kubeconfig = ""
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("export KUBECONFIG="):
                    kubeconfig = line.strip().partition("=")[2]
                if "kinds are served" in line:
                    break
            yield process, kubeconfig
        finally:
            process.terminate()
