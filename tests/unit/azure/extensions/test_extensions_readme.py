"""The README's example runs, and its own test passes; its table names every point."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import extensions_chains
import pytest
from extensions_chains import _kinds

from asoreconcile.azure.extensions.cases import sets_in
from asoreconcile.azure.extensions.registry import builtin_sets
from asoreconcile.azure.middleware import extension_points, factories
from asoreconcile.azure.middleware.chain import Extensions

README = Path(__file__).resolve().parents[4] / "extensions" / "README.md"


def files():
    """The files that the README has a newcomer write, by their names."""
    found = re.findall(
        r"`([\w.]+)`:\n\n^```\w+\n(.*?)^```",
        README.read_text(),
        re.MULTILINE | re.DOTALL,
    )
    assert [name for name, _ in found] == [
        "my_company.py",
        "test_my_company.py",
        "pyproject.toml",
    ]
    return dict(found)


def test_the_example_passes_its_own_tests(tmp_path):
    """As it is written, in a folder with nothing else."""
    for name, text in files().items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout


def test_the_example_s_entry_point_leads_to_a_set_that_fits():
    package = tomllib.loads(files()["pyproject.toml"])
    (target,) = package["project"]["entry-points"]["asoreconcile.extensions"].values()
    module, _, name = target.partition(":")
    assert (
        f"{module}.py"
        in package["tool"]["hatch"]["build"]["targets"]["wheel"]["include"]
    )
    example = {"__name__": module}
    exec(compile(files()[f"{module}.py"], str(README), "exec"), example)
    composed = Extensions.compose([example[name]], kinds=_kinds())
    assert composed.has(extension_points.PRE_RECONCILE_OWNER, example["DATABASE"])


def test_a_row_and_its_test_make_one_more_kind(monkeypatch):
    """No other file of the project is touched; the test fails without the row."""
    found = re.findall(
        r"`((?:extensions|tests)/[\w./]+)`:\n\n^```\w+\n(.*?)^```",
        README.read_text(),
        re.MULTILINE | re.DOTALL,
    )
    assert [path for path, _ in found] == [
        "extensions/cases.json",
        "tests/unit/azure/extensions/test_extensions_nat_gateway.py",
    ]
    (_, row), (_, text) = found
    example = {"__name__": "test_extensions_nat_gateway"}
    exec(compile(text, str(README), "exec"), example)
    (test,) = (one for name, one in example.items() if name.startswith("test_"))
    with pytest.raises(AssertionError):
        test()
    more = (*builtin_sets(), *sets_in(row.encode()))
    monkeypatch.setattr(extensions_chains, "builtin_sets", lambda: more)
    test()


def test_every_point_and_factory_is_told_of():
    text = README.read_text()
    names = {
        name
        for name, value in vars(extension_points).items()
        if value in extension_points.POINTS
    }
    made = {
        name for name in factories.__all__ if name.startswith(("block_", "export_"))
    }
    made |= {"reclassify", "keep_children"}
    assert {name for name in names | made if f"`{name}" not in text} == set()
