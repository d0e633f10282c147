"""A package of somebody else's, installed and loaded for real."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from operation import Operation
from world import resource_group

from asoreconcile.azure.cmd.subprocesses import ChildError

PACKAGE = Path(__file__).resolve().parents[1] / "examples" / "change_freeze"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The package as an installer lays it out; the folder to put on the path."""
    build = pytest.importorskip("hatchling.builders.wheel", reason="needs hatchling")
    source = tmp_path_factory.mktemp("source") / "change_freeze"
    shutil.copytree(PACKAGE, source)
    (wheel,) = build.WheelBuilder(str(source)).build(
        directory=str(source / "dist"), versions=["standard"]
    )
    target = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def test_its_own_tests_pass(installed):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=PACKAGE,
        env={**os.environ, "PYTHONPATH": str(installed), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_manager_runs_it_when_told_to(installed, tmp_path):
    frozen = resource_group()
    frozen["metadata"]["labels"] = {"frozen": "yes"}
    with Operation(tmp_path) as operation:
        operation.install(frozen)
        operation.start_manager(
            ASORECONCILE_EXTENSIONS="change-freeze,change-freeze",
            PYTHONPATH=str(installed),
        )
        operation.apply(frozen)
        ready = operation.wait_condition(frozen, "ReconciliationBlocked")
        assert "remove the label" in ready["message"]
        assert operation.requests("PUT") == []
        operation.apply(resource_group())
        operation.wait_ready(frozen)


def test_a_set_that_is_not_installed_stops_the_start(tmp_path):
    with Operation(tmp_path) as operation:
        manager = operation.start_manager("--extensions", "nobody-has-it")
        with pytest.raises(ChildError, match="nobody-has-it"):
            manager.wait_for_file(tmp_path / "never", 30)
