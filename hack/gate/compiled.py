"""A pytest plugin: new tests are compiled once, before several processes read them.

Each worker of xdist collects all tests. In a new checkout each of them would compile
every file that tests import, and write the same bytecode as the others.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from gate.results import runs_everything

# A run that starts after an edit compiles a few files by itself.
MOST_NEW = 100
PROCESSES = 2
_COLLECT = ("-m", "pytest", "--collect-only", "-qq", "-n", "0")


class Compiled:
    """The plugin, for the process that reports."""

    @pytest.hookimpl(tryfirst=True)  # before xdist starts its workers
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Compile all tests if most of them are new and several workers will run."""
        config = session.config
        workers = config.getoption("numprocesses", None) or 0
        if workers < PROCESSES or not runs_everything(config):
            return
        files = new_tests(config.rootpath)
        if len(files) > MOST_NEW:
            compile_tests(files, config.rootpath)


def new_tests(root: Path) -> list[Path]:
    """Return the test files that pytest has not compiled into the folder for it."""
    if sys.pycache_prefix is None:
        return []
    kept = Path(sys.pycache_prefix, *root.parts[1:])
    return [
        path
        for path in sorted(root.glob("tests/**/test_*.py"))
        if not any(
            (kept / path.relative_to(root).parent).glob(f"{path.stem}.*-pytest-*.pyc")
        )
    ]


def compile_tests(files: list[Path], root: Path) -> None:
    """Let a few processes collect a share of the files each.

    Errors are left to the run itself, which imports the same files.
    """
    shares = [files[number::PROCESSES] for number in range(PROCESSES)]
    processes = [
        subprocess.Popen(
            [sys.executable, *_COLLECT, *share],
            cwd=root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for share in shares
    ]
    for process in processes:
        process.wait()
