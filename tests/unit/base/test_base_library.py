"""The library stands for itself: nothing of Azure or of Azure Service Operator in it."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "asoreconcile"
# What is built on the library, and what tests it.
ABOVE = {"azure", "testing"}
# A list of words that are no secrets, and the name of an extra.
ALLOWED = {
    ("asoreconcile/redaction/secret_registry.py", "arm"),
    ("asoreconcile/base/extras.py", "azure"),
}
FOREIGN = {"arm", "aso", "azure", "entra", "microsoft", "msal", "severity"}
# `asoApi`, `ArmError`, `ARM_ID`, `azure_name`: one word each.
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def _library():
    return sorted(
        path
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in ABOVE
    )


def _foreign(text):
    return sorted({word.lower() for word in WORD.findall(text)} & FOREIGN)


def test_no_word_of_azure_or_of_its_operator_is_in_the_library():
    paths = _library()
    assert len(paths) > 80
    found = {
        (str(path.relative_to(ROOT)), word)
        for path in paths
        for word in _foreign(path.read_text())
    }
    assert found == ALLOWED


def test_such_words_are_found_where_they_are():
    for text in ("ArmError", "an ASO condition", "azure_name", "ARM_ID", "asoCrd"):
        assert _foreign(text), text
    assert not _foreign("from asoreconcile import AsoreconcileError, alarm, armed")
    assert _foreign((PACKAGE / "azure/arm/condition_error.py").read_text())


def test_the_import_contract_names_every_package_of_the_library():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    (contract,) = [c for c in contracts if "does not depend on Azure" in c["name"]]
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    expected = {f"asoreconcile.{name}" for name in packages - {"azure"}}
    assert set(contract["source_modules"]) == expected
    assert contract["forbidden_modules"] == ["asoreconcile.azure"]


def test_the_package_has_at_most_eighteen_entries_at_its_top_level():
    entries = [path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 18
