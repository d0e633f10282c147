"""Starts the small API server and the programs that watch it, one at a time."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
_LIMIT_SECONDS = 400.0


@contextmanager
def served(*options: str) -> Iterator[str]:
    """The URL of a server that runs while this is entered."""
    command = [sys.executable, HERE / "api.py", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        finally:
            server.kill()


def measured(
    program: str, url: str, count: int, *, python: str = sys.executable
) -> dict[str, float]:
    """What a program prints: a JSON line. Its complaints go to our stderr."""
    command = [python, str(HERE / f"{program}.py"), url, str(count)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, timeout=_LIMIT_SECONDS
    )
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def interpreter(package: str, other: str) -> str | None:
    """Ours or the other one, whichever can import a package."""
    for python in (sys.executable, other):
        done = subprocess.run(
            [python, "-c", f"import {package}"], stderr=subprocess.DEVNULL, check=False
        )
        if done.returncode == 0:
            return python
    return None


def show(line: dict[str, object]) -> None:
    print(json.dumps(line), flush=True)  # noqa: T201 - its output
