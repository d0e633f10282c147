"""Pages that name the test of each promise name tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "README.md",
    "deploy/docs/databases.md",
    "deploy/docs/entra.md",
    "extensions/README.md",
)
NAMED = re.compile(r"`(test_\w+)`(?!\.py)")
DEFINED = re.compile(r"^ *def (test_\w+)\(", re.MULTILINE)


@pytest.fixture(scope="module")
def defined():
    files = (ROOT / "tests").rglob("test_*.py")
    return {name for file in files for name in DEFINED.findall(file.read_text())}


@pytest.mark.parametrize("page", PAGES)
def test_each_promise_has_a_test_that_exists(page, defined):
    text = (ROOT / page).read_text()
    _, _, table = text.partition("# Each promise and its test")
    table, _, _ = table.partition("\n#")
    rows = [row for row in table.splitlines() if row.startswith("| ")][1:]
    assert len(rows) > 10
    for row in rows:
        names = NAMED.findall(row)
        assert names, row
        assert set(names) <= defined, set(names) - defined
