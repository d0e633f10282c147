"""Type checkers know the class that a client, an informer or a reconciler is of."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SNIPPET = Path(__file__).parent / "typed_resources.py"
REPOSITORY = Path(__file__).resolve().parents[2]


def marked():
    """The lines that are to be refused, and mypy's word for why."""
    lines = SNIPPET.read_text().splitlines()
    found = {
        (number, line.partition("# error: ")[2].strip())
        for number, line in enumerate(lines, 1)
        if "  # error: " in line
    }
    assert len(found) == 9
    return found


@pytest.mark.timeout(300)  # a cold mypy reads the whole dependency tree
def test_mypy_refuses_exactly_the_marked_lines(monkeypatch):
    api = pytest.importorskip("mypy.api")
    monkeypatch.chdir(REPOSITORY)
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
    assert refused == marked(), out


@pytest.mark.timeout(300)
def test_pyright_refuses_exactly_the_marked_lines(tmp_path):
    program = os.environ.get("PYRIGHT") or next(
        filter(None, map(shutil.which, ("pyright", "basedpyright"))), None
    )
    if program is None:
        pytest.skip(
            "pyright is not there: pip install basedpyright, and name it by PYRIGHT"
        )
    settings = tmp_path / "pyrightconfig.json"
    environment = Path(sys.prefix)
    settings.write_text(
        json.dumps({
            "include": [str(SNIPPET)],
            "extraPaths": [str(REPOSITORY)],
            "typeCheckingMode": "strict",
            "venvPath": str(environment.parent),
            "venv": environment.name,
        })
    )  # fmt: skip
    answer = subprocess.run(
        [program, "-p", settings, "--outputjson"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    found = json.loads(answer.stdout)["generalDiagnostics"]
    assert {one["severity"] for one in found} == {"error"}, found
    refused = {one["range"]["start"]["line"] + 1 for one in found}
    assert refused == {line for line, _ in marked()}, found
