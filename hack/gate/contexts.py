"""A record of the tests that run each file: a pytest plugin that makes it, and queries.

The plugin runs in each process of pytest that runs tests, and asks coverage to note the
lines that each test runs. Code that runs during an import says nothing of a test, so
only lines of functions count. Processes that a test starts are not recorded.
"""

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

FOLDER_VARIABLE = "ASORECONCILE_CONTEXTS"
SOURCES = ("asoreconcile", "controllers", "extensions", "cmd")


class Recorder:
    """Notes the lines that each test of a process runs."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._coverage = coverage.Coverage(
            data_file=str(folder / "part"),
            data_suffix=True,
            config_file=False,
            include=[f"{root / source}/*" for source in SOURCES],
            messages=False,
        )
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Name the test while it runs, with its fixtures."""
        self._coverage.switch_context(item.nodeid)
        result = yield
        self._coverage.switch_context("")
        return result

    def pytest_unconfigure(self) -> None:
        """Write what this process noted."""
        self._coverage.stop()
        self._coverage.save()


def pytest_configure(config: pytest.Config) -> None:
    """Record, unless the tests run in workers of this process."""
    if not config.getoption("numprocesses", None):
        folder = Path(os.environ[FOLDER_VARIABLE])
        config.pluginmanager.register(Recorder(folder, config.rootpath))


def combine(folder: Path) -> None:
    """Make one file of those of all processes."""
    together = coverage.CoverageData(str(folder / "contexts"))
    together.erase()
    for part in sorted(folder.glob("part.*")):
        data = coverage.CoverageData(str(part))
        data.read()
        together.update(data)
        part.unlink()
    together.write()


def tests_of(folder: Path, file: Path) -> list[str]:
    """Return the tests that run a function of a file. Raises FileNotFoundError."""
    if not (folder / "contexts").exists():
        raise FileNotFoundError(folder / "contexts")
    data = coverage.CoverageData(str(folder / "contexts"))
    data.read()
    by_line = data.contexts_by_lineno(str(file.resolve()))
    lines = set(lines_of_functions(file.read_text()))
    found = {test for line in by_line.keys() & lines for test in by_line[line]}
    return sorted(found - {""})


def lines_of_functions(source: str) -> Iterator[int]:
    """Yield the lines of statements that run when a function is called."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            body = node.body if isinstance(node.body, list) else []
            for statement in body:
                yield from range(statement.lineno, (statement.end_lineno or 0) + 1)
