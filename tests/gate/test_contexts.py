"""`hack/tests-of`: which tests run the functions of a file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from gate import contexts

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = '''"""Two functions."""

CONSTANT = max(1, 2)


def used(value):
    """The first."""
    return value + CONSTANT


class Thing:
    size = 3

    def never(self):
        return self.size
'''
TESTS = """
import threading

import pytest

from asoreconcile import thing


@pytest.mark.parametrize("n", [1, 2])
def test_calls(n):
    assert thing.used(n)


def test_calls_on_a_thread():
    thread = threading.Thread(target=thing.used, args=(1,))
    thread.start()
    thread.join()


def test_only_imports():
    assert thing.CONSTANT
"""


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_tests_that_run_a_function_are_recorded(tmp_path, workers):
    package = tmp_path / "asoreconcile"
    folder = tmp_path / "contexts"
    for made in (package, tmp_path / "tests", folder):
        made.mkdir()
    (package / "__init__.py").touch()
    (package / "thing.py").write_text(PACKAGE)
    (tmp_path / "tests" / "test_thing.py").write_text(TESTS)
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("PYTEST_", "ASORECONCILE_"))
    }
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "xdist", workers),
            *("-p", "gate.contexts", "tests"),
        ],
        cwd=tmp_path,
        env={
            **kept,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": f"{ROOT / 'hack'}:{tmp_path}",
            contexts.FOLDER_VARIABLE: str(folder),
        },
        stdout=subprocess.DEVNULL,
        check=True,
    )
    contexts.combine(folder)
    assert contexts.tests_of(folder, package / "thing.py") == [
        "tests/test_thing.py::test_calls[1]",
        "tests/test_thing.py::test_calls[2]",
        "tests/test_thing.py::test_calls_on_a_thread",
    ]
    assert contexts.tests_of(folder, package / "__init__.py") == []


def test_without_a_record_the_command_says_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        contexts.tests_of(tmp_path, ROOT / "hack" / "ci.py")


def test_lines_of_functions_are_those_that_run_when_it_is_called():
    assert set(contexts.lines_of_functions(PACKAGE)) == {7, 8, 15}
