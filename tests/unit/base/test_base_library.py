"""The library stands for itself: nothing of Azure or of Azure Service Operator in it."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ROOM = ROOT / "asoreconcile"
# What is built on the library, and what tests it.
ABOVE = {
    "arm",
    "azure",
    "catalogue",
    "cmd",
    "controllers",
    "entra",
    "expressions",
    "extensions",
    "graph",
    "middleware",
    "non_arm",
    "sql_users",
    "testing",
}
# A list of words that are no secrets, whoever says them.
ALLOWED = {
    ("asoreconcile/redaction/vault.py", "arm"),
    ("asoreconcile/extras.py", "azure"),  # the name of an extra
}
FOREIGN = {"arm", "aso", "azure", "entra", "microsoft", "msal", "severity"}
# `asoApi`, `ArmError`, `ARM_ID`, `azure_name`: one word each.
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def _library():
    return sorted(
        path
        for path in ROOM.rglob("*.py")
        if path.relative_to(ROOM).parts[0] not in ABOVE
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
    assert _foreign((ROOM / "arm" / "condition_error.py").read_text())


def test_the_import_contract_names_every_module_of_the_library():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    (contract,) = [c for c in contracts if "knows neither Azure" in c["name"]]
    tops = {path.relative_to(ROOM).parts[0].removesuffix(".py") for path in _library()}
    expected = {f"asoreconcile.{top}" for top in tops - {"__init__"}}
    assert set(contract["source_modules"]) == expected
    # cmd/ is no package: no contract can see it.
    above = {f"asoreconcile.{room}" for room in ABOVE - {"cmd"}}
    assert above <= set(contract["forbidden_modules"])
    assert {"azure", "msal", "requests"} <= set(contract["forbidden_modules"])
