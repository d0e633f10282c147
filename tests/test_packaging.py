"""The shipped package: one wheel that can be imported in a clean environment."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from asoreconcile.azure.extensions import registry
from asoreconcile.base.extras import EXTRAS

ROOT = Path(__file__).resolve().parent.parent

IMPORT_ALL = """
import importlib, pkgutil, sys
import asoreconcile
names = [m.name for m in pkgutil.walk_packages(asoreconcile.__path__, "asoreconcile.")]
for name in names:
    importlib.import_module(name)
for name in ("manager", "kinds", "extensions", "testserver", "asoctl", "asoreconcile"):
    importlib.import_module("asoreconcile.azure.cmd." + name)
assert len(names) > 100, names
assert "controllers" not in sys.modules and "extensions" not in sys.modules
print(asoreconcile.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The unpacked wheel: the files of an installation, made without the network."""
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


# Modules that fail without an extra: `expressions.process` and `kube.kubeconfig` name
# the missing extra before they load these.
SAID_BY_OTHERS = {
    "asoreconcile.azure.expressions.engine",
    "asoreconcile.azure.expressions.environment",
    "asoreconcile.azure.expressions.proto_schema",
    "asoreconcile.azure.expressions.syntax",
    "asoreconcile.kube.auth_provider",
}
# A finder that precedes all others and only refuses modules.
WITHOUT_EXTRAS = """
import importlib, pkgutil, sys
from asoreconcile.base import extras
tops = {m.partition(".")[0] for ms in extras.EXTRAS.values() for m in ms}
class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in tops:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent)
"""
IMPORT_EACH = """
import asoreconcile
for found in pkgutil.walk_packages(
    asoreconcile.__path__, "asoreconcile.", onerror=lambda name: None
):
    try:
        importlib.import_module(found.name)
        print("library", found.name)
    except extras.MissingExtraError as error:
        print("said", found.name, error)
    except ModuleNotFoundError as error:
        print("unsaid", found.name, error)
"""


def _python(wheel, program, *arguments):
    return subprocess.run(
        [sys.executable, "-P", "-c", program, *arguments],
        env={"PYTHONPATH": str(wheel), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_library_imports_without_any_extra_and_the_rest_says_which_it_needs(wheel):
    done = _python(wheel, WITHOUT_EXTRAS + IMPORT_EACH)
    assert done.returncode == 0, done.stderr
    how = {"library": [], "said": [], "unsaid": []}
    for line in done.stdout.splitlines():
        how[line.split()[0]].append(line.split()[1])
    assert set(how["unsaid"]) == SAID_BY_OTHERS | {PLUGIN}
    assert len(how["library"]) > 150
    rooms = {name.split(".")[1] for name in how["library"]}
    assert rooms >= {"kube", "cache", "queue", "runtime", "webhooks", "serving"}
    assert {"asoreconcile.testing.kube", "asoreconcile.testing.clock"} <= {
        *how["library"]
    }
    rooms = {name.split(".")[1] for name in how["said"]}
    assert rooms == {"azure", "testing"}
    assert "pip install 'CLONE[azure]'" in done.stdout


# pytest itself loads it.
PLUGIN = "asoreconcile.testing.pytest_plugin"


@pytest.mark.parametrize(
    ("command", "lacks", "told"),
    [
        ("asoctl", "", "asoctl: the command asoctl needs click, which is not "),
        ("asoreconcile", "", "asoreconcile: the command asoreconcile needs click"),
        (
            "asoctl",
            "click",
            "asoctl: asoreconcile.azure.arm needs azure.core, which is not ",
        ),
    ],
)
def test_a_command_says_which_extra_it_needs(wheel, command, lacks, told):
    program = WITHOUT_EXTRAS + f"tops -= {{{lacks!r}}}\n"
    if lacks:  # all of `cli` is there
        program += "tops -= {'rich'}\n"
    program += f"from asoreconcile.azure.cmd.start import {command}\n{command}()\n"
    done = _python(wheel, program, "render", "-f", "-")
    assert done.returncode == 1
    assert done.stderr.startswith(told), done.stderr
    assert done.stderr.count("\n") == 1
    assert "pip install 'CLONE[" in done.stderr


def test_a_command_of_an_installation_without_the_test_kit_says_so(wheel, tmp_path):
    without = shutil.copytree(wheel, tmp_path / "without")
    shutil.rmtree(without / "asoreconcile" / "testing")
    program = "from asoreconcile.azure.cmd.start import asoreconcile\nasoreconcile()"
    done = _python(without, program, "testserver", "kube")
    assert done.returncode == 1
    assert done.stderr == (
        "asoreconcile: this installation was made without the test servers\n"
    )


def test_the_extras_are_those_that_the_package_asks_for():
    asked = _project()["optional-dependencies"]
    expected = {
        extra: {_module(Requirement(one).name) for one in requirements}
        for extra, requirements in asked.items()
        if extra != "dev"
    }
    found = {extra: set(names) for extra, names in EXTRAS.items()}
    for modules in expected.values():
        modules.discard("asoreconcile")  # an extra that it includes
    assert found == expected


def _project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _module(distribution):
    name = canonicalize_name(distribution)
    return MODULES.get(name, name.replace("-", "_"))


COUNT_SETS = """
from asoreconcile.azure.extensions import registry
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
    assert int(count) == len(registry.builtin_sets())


@pytest.mark.parametrize("name", ["cmd.manager", "controllers", "extensions"])
@pytest.mark.parametrize("left", ["a file with the link's text", "nothing"])
def test_a_checkout_without_symbolic_links_says_what_to_do(tmp_path, name, left):
    """Git writes files in place of links on Windows; some archivers leave them out."""
    package = tmp_path / "asoreconcile" / "azure"
    package.mkdir(parents=True)
    for path in ("__init__.py", "__init__.pyi", "azure/__init__.py"):
        shutil.copyfile(ROOT / "asoreconcile" / path, package.parent / path)
    for link in ("cmd", "controllers", "extensions"):
        (tmp_path / link).mkdir()
        if left != "nothing":
            (package / link).write_text(f"../../{link}")
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import asoreconcile.azure.{name}"],
        env={"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    error = done.stderr.splitlines()[-1]
    assert error.startswith("ImportError: cmd, controllers and extensions in ")
    assert "clone the repository again with `git clone -c core.symlinks=true`" in error
    assert error.endswith("a program that keeps symbolic links.")


def test_the_wheel_holds_the_kinds_and_the_licence(wheel):
    assert (
        wheel / "asoreconcile" / "azure" / "controllers" / "kinds" / "index.json"
    ).exists()
    assert (wheel / "asoreconcile" / "py.typed").exists()
    assert list(wheel.glob("*.dist-info/licenses/LICENSE"))
    assert not (wheel / "asoreconcile" / "docs").exists()
    samples = {
        path.name for path in (wheel / "asoreconcile" / "azure" / "samples").iterdir()
    }
    assert samples == {path.name for path in (ROOT / "deploy" / "samples").iterdir()}


@pytest.mark.parametrize("room", ["asoreconcile", "controllers", "extensions", "cmd"])
def test_rooms_are_imported_by_their_full_name(room):
    """`import controllers` would make a second copy, and `cmd` is not a library."""
    paths = list((ROOT / room).rglob("*.py"))
    assert paths
    for path in paths:
        imported = _imported(path)
        tops = {name.partition(".")[0] for name in imported}
        assert not tops & {"controllers", "extensions", "cmd"}, path
        if "cmd" not in path.relative_to(ROOT).parts:
            assert not [
                n for n in imported if n.startswith("asoreconcile.azure.cmd")
            ], path


@cache
def _imported(path):
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


# The module of each distribution whose module has another name.
MODULES = {
    "azure-core": "azure.core",
    "azure-identity": "azure.identity",
    "cel-expr-python": "cel_expr_python",
    "google-re2": "re2",
    "opentelemetry-api": "opentelemetry",
    "opentelemetry-sdk": "opentelemetry.sdk",
    "prometheus-client": "prometheus_client",
    "protobuf": "google.protobuf",
    "python-tds": "pytds",
    "pyopenssl": "OpenSSL",
    "pyyaml": "yaml",
}
# Run, or found by others that run; nothing of ours imports them.
TOOLS = {
    *(
        "basedpyright",
        "editables",
        "import-linter",
        "mypy",
        "ruff",
        "types-pyyaml",
        "types-requests",
    ),
    *("pytest-randomly", "pytest-timeout", "pytest-xdist"),
    "pyopenssl",  # python-tds asks for TLS of it
}
SHIPPED = ("asoreconcile", "controllers", "extensions", "cmd")


def _listed(*, dev):
    """The modules of the distributions that pyproject.toml asks for, in any extra.

    dev: also the distributions for developers of the project.
    """
    project = _project()
    asked = list(project["dependencies"])
    for extra, requirements in project["optional-dependencies"].items():
        if dev or extra != "dev":
            asked += requirements
    names = {canonicalize_name(Requirement(one).name) for one in asked}
    names -= {"asoreconcile", *TOOLS}
    return {_module(name) for name in names}


def _foreign(*rooms):
    """Modules of others that the sources import, `pytest.importorskip` included."""
    found, ours = set(), {"asoreconcile"}
    for path in (path for room in rooms for path in (ROOT / room).rglob("*.py")):
        if not path.is_relative_to(ROOT / "tests/typing"):
            found.update(_imported(path))
            text = path.read_text()
            found.update(re.findall(r'importorskip\(\s*"([\w.]+)"', text))
        if path.relative_to(ROOT).parts[0] not in SHIPPED:
            # Found by its folder, as a module or in a package.
            ours.update((path.stem, *_packages(path)))
    tops = sys.stdlib_module_names | ours
    return {name for name in found if name.partition(".")[0] not in tops}


def _packages(path):
    """The test folders that it may be imported through; `tests/unit` has none."""
    folders = path.relative_to(ROOT).parts[1:-1]
    return () if folders[:1] == ("unit",) else folders


def _unlisted(imported, listed):
    return {
        name
        for name in imported
        if not any(f"{name}.".startswith(f"{one}.") for one in listed)
    }


def _unused(imported, listed):
    return {
        one
        for one in listed
        if not any(f"{name}.".startswith(f"{one}.") for name in imported)
    }


def test_what_the_shipped_code_imports_is_what_it_asks_for():
    imported, listed = _foreign(*SHIPPED), _listed(dev=False)
    assert _unlisted(imported, listed) == set()
    assert _unused(imported, listed) == set()
    assert _unused(imported - {"tenacity"}, listed) == {"tenacity"}
    assert _unlisted(imported | {"certified"}, listed) == {"certified"}


def test_what_the_tests_import_is_what_they_ask_for():
    everything = _listed(dev=True)
    imported = _foreign("tests", "hack")
    # Microsoft's clients are large: their tests skip without them. So are measurements
    # whose peer is not there. Griffe is for the documentation, and playwright
    # drives a browser.
    elsewhere = {"azure.mgmt", "cattrs", "griffe", "playwright"}
    assert _unlisted(imported, everything | elsewhere) == set()
    assert _unused(imported, everything - _listed(dev=False)) == set()


@pytest.mark.parametrize(
    ("lock", "extras"),
    [
        ("tests", {"dev", "auth-provider", "azure", "cel", "cli", "tracing"}),
        ("deploy", {"azure", "cel", "cli"}),
    ],
)
def test_what_is_locked_is_what_is_asked_for(lock, extras):
    """The lock names each dependency with hashes, at a version that pyproject.toml
    allows, and no lock names where its packages came from.
    """
    text = (ROOT / lock / "requirements.txt").read_text()
    project = _project()
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
