"""Mypy and pyright, run over files as in a user's strict project."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
_MYPY_LINE = re.compile(r"^(.*\.py):(\d+): (error|note): (.*)$", re.MULTILINE)


def mypy(files):
    """Return mypy's errors and revealed types as (file's name, line, text)."""
    api = pytest.importorskip("mypy.api")
    options = ["--strict", "--no-error-summary", "--hide-error-context"]
    before = Path.cwd()
    os.chdir(REPOSITORY)
    try:
        said, err, _ = api.run([*options, "--follow-imports=silent", *map(str, files)])
    finally:
        os.chdir(before)
    assert not err
    found = _MYPY_LINE.findall(said)
    return [
        (Path(file).name, int(line), text)
        for file, line, severity, text in found
        if severity == "error" or text.startswith("Revealed type")
    ]


def pyright(files, folder):
    """The same of pyright, with the settings that it needs in a folder.

    It is basedpyright of this environment, pyright with a node of its own;
    PYRIGHT names another one.
    """
    program = os.environ.get("PYRIGHT") or Path(sys.prefix, "bin", "basedpyright")
    settings = folder / "pyrightconfig.json"
    environment = Path(sys.prefix)
    asked = {
        "include": [str(file) for file in files],
        "extraPaths": [str(REPOSITORY)],
        "typeCheckingMode": "strict",
        "venvPath": str(environment.parent),
        "venv": environment.name,
    }
    settings.write_text(json.dumps(asked))
    answer = subprocess.run(
        [program, "-p", settings, "--outputjson"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    found = json.loads(answer.stdout)["generalDiagnostics"]
    return [
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"])
        for one in found
    ]
