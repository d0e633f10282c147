"""What is shipped: one wheel that imports in a clean environment."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent

IMPORT_ALL = """
import importlib, pkgutil, sys
import asoreconcile
names = [m.name for m in pkgutil.walk_packages(asoreconcile.__path__, "asoreconcile.")]
for name in names:
    importlib.import_module(name)
for name in ("manager", "kinds", "extensions", "testserver", "asoctl", "asoreconcile"):
    importlib.import_module("asoreconcile.cmd." + name)
assert len(names) > 100, names
assert "controllers" not in sys.modules and "extensions" not in sys.modules
print(asoreconcile.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, unpacked: what an installation would hold, without the network."""
    build = pytest.importorskip("hatchling.builders.wheel", reason="needs hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    (path,) = build.WheelBuilder(str(ROOT)).build(
        directory=str(folder), versions=["standard"]
    )
    target = folder / "unpacked"
    with zipfile.ZipFile(path) as archive:
        archive.extractall(target)
    return target


def test_every_module_of_the_wheel_imports(wheel):
    done = subprocess.run(
        [sys.executable, "-P", "-c", IMPORT_ALL],
        env={"PYTHONPATH": str(wheel), "PATH": ""},
        cwd=wheel,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(wheel))


COUNT_SETS = """
from asoreconcile.extensions import registry
print(registry.__file__, len(registry.builtin_sets()))
"""


def test_the_wheel_s_extensions_are_found_in_a_zip_archive(wheel, tmp_path):
    """Their modules and their tables: nothing asks for a folder on disk."""
    archive = shutil.make_archive(str(tmp_path / "wheel"), "zip", wheel)
    done = subprocess.run(
        [sys.executable, "-P", "-c", COUNT_SETS],
        env={"PYTHONPATH": archive, "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    file, count = done.stdout.split()
    assert file.startswith(archive)
    kinds = [p for p in (ROOT / "extensions").glob("*/*.py") if p.name[0] != "_"]
    assert int(count) == len(kinds)


def test_the_wheel_holds_the_kinds_and_the_licence(wheel):
    assert (wheel / "asoreconcile" / "controllers" / "kinds" / "index.json").exists()
    assert (wheel / "asoreconcile" / "py.typed").exists()
    assert list(wheel.glob("*.dist-info/licenses/LICENSE"))
    samples = {path.name for path in (wheel / "asoreconcile" / "samples").iterdir()}
    assert samples == {path.name for path in (ROOT / "deploy" / "samples").iterdir()}


@pytest.mark.parametrize("room", ["asoreconcile", "controllers", "extensions", "cmd"])
def test_rooms_are_imported_by_their_full_name(room):
    """`import controllers` would make a second copy; `cmd` is nobody's library."""
    paths = list((ROOT / room).rglob("*.py"))
    assert paths
    for path in paths:
        imported = set(_imported(path))
        tops = {name.partition(".")[0] for name in imported}
        assert not tops & {"controllers", "extensions", "cmd"}, path
        if "cmd" not in path.relative_to(ROOT).parts:
            assert not [n for n in imported if n.startswith("asoreconcile.cmd")], path


def _imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize(
    ("lock", "extras"), [("tests", {"dev", "cel"}), ("deploy", {"cel"})]
)
def test_what_is_locked_is_what_is_asked_for(lock, extras):
    """Each dependency stands in the lock at a version that pyproject.toml takes, with
    hashes, and no lock names where its packages came from.
    """
    text = (ROOT / lock / "requirements.txt").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = list(project["dependencies"])
    for extra in extras:
        asked += project["optional-dependencies"][extra]
    locked = dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", text, flags=re.MULTILINE))
    for requirement in map(Requirement, asked):
        name = canonicalize_name(requirement.name)
        if name != "asoreconcile":
            assert requirement.specifier.contains(locked[name]), requirement
    pinned = re.split(r"^(?=\S+==)", text, flags=re.MULTILINE)[1:]
    assert len(pinned) == len(locked)
    assert all("--hash=sha256:" in entry for entry in pinned)
    assert "://" not in text
