"""The built-in sets as a whole, and how their modules are found."""

import importlib
import json
import shutil
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from extensions_chains import _kinds, cr, default, status_at

from asoreconcile.azure import extensions
from asoreconcile.azure.extensions.cases import sets_in
from asoreconcile.azure.extensions.registry import builtin_sets, sets_of
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionError
from asoreconcile.azure.testing.extensions import check_extension_set

KIND_FILE = """
from asoreconcile.azure.middleware.extension_points import DELETE
from asoreconcile.azure.middleware.extension_set import ExtensionSet
from asoreconcile.base.objects import GroupKind

EXTENSIONS = ExtensionSet("{name}")
EXTENSIONS.on(DELETE, GroupKind("example.com", "{name}"))(lambda req, call_next: None)
"""


def module_of(extension_set):
    (module,) = {link.defined.partition(":")[0] for link in extension_set.freeze()}
    return module


def test_every_file_is_found():
    """On disk and not as packages: a folder without `__init__.py` shows as well."""
    (root,) = map(Path, extensions.__path__)
    found = {path.relative_to(root) for path in root.rglob("*.py")}
    kinds = {path for path in found if not path.name.startswith("_")}
    names = {".".join(path.with_suffix("").parts) for path in kinds}
    names -= {"cases", "registry"}
    found = [module_of(one) for one in sets_of(extensions)]
    assert set(found) == {f"asoreconcile.azure.extensions.{name}" for name in names}
    assert found == sorted(found)


def test_a_file_is_named_after_its_kind():
    for one in sets_of(extensions):
        (kind,) = {link.kind for link in one.freeze()}
        *_, group, file = module_of(one).split(".")
        assert kind.group == f"{group}.azure.com"
        assert file.replace("_", "") == kind.kind.lower()
        assert one.name == f"{group}.{kind.kind}"


def test_each_row_says_what_it_is_for_and_where_it_is():
    table = (files(extensions) / "cases.json").read_bytes()
    rows = json.loads(table)
    assert list(rows) == sorted(rows)
    assert all(row["about"] for row in rows.values())
    for one in sets_in(table):
        places = {link.defined for link in one.freeze()}
        assert places == {f"asoreconcile.azure.extensions.cases:{one.name}"}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Writes files of a package `special` and imports it; forgotten afterwards."""

    def write(**texts):
        for path, text in texts.items():
            group, _, file = path.partition("__")
            (tmp_path / "special" / group).mkdir(parents=True, exist_ok=True)
            (tmp_path / "special" / "__init__.py").touch()
            (tmp_path / "special" / group / "__init__.py").touch()
            (tmp_path / "special" / group / f"{file}.py").write_text(text)
        return imported(tmp_path)

    def imported(folder):
        monkeypatch.syspath_prepend(folder)
        forget()
        return importlib.import_module("special")

    def forget():
        importlib.invalidate_caches()
        for name in [n for n in sys.modules if n.partition(".")[0] == "special"]:
            del sys.modules[name]

    write.imported = imported  # type: ignore[attr-defined]
    yield write
    forget()


def kind_file(name):
    return KIND_FILE.format(name=name)


def names(sets):
    return [one.name for one in sets]


def test_a_file_more_suffices(package):
    assert names(sets_of(package(a__one=kind_file("One")))) == ["One"]
    both = package(a__two=kind_file("Two"))
    assert names(sets_of(both)) == ["One", "Two"]


def test_the_order_is_that_of_the_names_wherever_the_files_are(package, tmp_path):
    """A package may be spread over folders; each is listed after the other."""
    special = package(b__one=kind_file("B"), c__one=kind_file("C"))
    further = tmp_path / "further" / "a"
    further.mkdir(parents=True)
    (further / "__init__.py").touch()
    (further / "one.py").write_text(kind_file("A"))
    special.__path__.append(str(tmp_path / "further"))
    assert names(sets_of(special)) == ["A", "B", "C"]


def test_every_module_without_a_set_is_named(package):
    special = package(
        a__none="",
        a__one=kind_file("One"),
        a__wrong="EXTENSIONS = []",
        a___shared="",
        b__none="extensions = ()",
    )
    with pytest.raises(ExtensionError, match=r"an underscore") as caught:
        sets_of(special)
    assert "in special.a.none, special.a.wrong, special.b.none: " in str(caught.value)


def test_a_folder_within_a_group_is_not_passed_over(package, tmp_path):
    special = package(a__one=kind_file("One"))
    deeper = tmp_path / "special" / "a" / "deeper"
    deeper.mkdir()
    (deeper / "__init__.py").touch()
    (deeper / "two.py").write_text(kind_file("Two"))
    with pytest.raises(ExtensionError, match=r"special\.a\.deeper: "):
        sets_of(special)


def test_a_module_that_does_not_import_says_so_itself(package):
    with pytest.raises(ZeroDivisionError):
        sets_of(package(a__one="1 / 0"))


def test_a_zip_archive_is_walked_as_well(package, tmp_path):
    package(b__one=kind_file("B"), a__one=kind_file("A"), a___shared="1 / 0")
    archive = shutil.make_archive(str(tmp_path / "special"), "zip", tmp_path, "special")
    special = package.imported(archive)
    assert special.__file__.startswith(archive)
    assert names(sets_of(special)) == ["A", "B"]


def test_the_built_in_sets_keep_to_the_rules_of_every_set():
    busy = status_at("provisioningState", "Updating") | {"state": "Updating"}
    samples = [
        cr(f"{row.kind.group.partition('.')[0]}/{row.kind.kind}", status=busy)
        for row in default().describe()
    ]
    for one in builtin_sets():
        check_extension_set(one, kinds=_kinds(), samples=samples)


def test_the_built_in_sets_are_innermost():
    assert {one.order for one in builtin_sets()} == {BUILT_IN_ORDER}


def test_all_seven_payload_modifiers_are_there():
    rows = [row for row in default().describe() if row.point == "modify-payload"]
    assert sorted(row.kind.kind for row in rows) == [
        "LoadBalancer",
        "NetworkSecurityGroup",
        "RoleAssignment",
        "RouteTable",
        "Vault",
        "VirtualMachineScaleSet",
        "VirtualNetwork",
    ]
