"""The type checker sees a function on the wrong point, at the line that registers it."""

import re
from pathlib import Path

import pytest

SNIPPET = Path(__file__).parent / "points_reject_foreign_functions.py"
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(300)  # a cold mypy reads the whole dependency tree
def test_mypy_refuses_exactly_the_marked_registrations(monkeypatch):
    api = pytest.importorskip("mypy.api")
    monkeypatch.chdir(REPOSITORY)
    # Errors of the modules it imports are theirs to report.
    out, err, _ = api.run([
        "--strict",
        "--no-error-summary",
        "--hide-error-context",
        "--follow-imports=silent",
        str(SNIPPET.relative_to(REPOSITORY)),
    ])  # fmt: skip
    assert not err
    pattern = rf"{SNIPPET.name}:(\d+): error: .*\[([\w-]+)\]$"
    refused = {(int(n), code) for n, code in re.findall(pattern, out, re.MULTILINE)}
    marked = {
        (number, line.partition("# error: ")[2].strip())
        for number, line in enumerate(SNIPPET.read_text().splitlines(), 1)
        if "# error: " in line
    }
    assert refused == marked, out
