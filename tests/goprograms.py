"""Programs in Go that tests run: oracles, and controllers of other projects.

`hack/go-program NAME` builds one from its folder in tests/contract; tests are skipped if
theirs is not built.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def built(name: str) -> str:
    """Return the path of a program, or skip the test."""
    found = _run(ROOT / "hack" / "go-program", name, "--check")
    if found.returncode:
        pytest.skip(f"there is no program: hack/go-program {name} builds it")
    return found.stdout.strip()


def module_folder(name: str, module: str) -> Path:
    """Return the source of a module that a built program is made of, or skip the test.

    name: the name of the program.
    """
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    asked = ("list", "-m", "-f", "{{.Dir}}", module)
    found = _run(go, *asked, cwd=ROOT / "tests" / "contract" / name) if go else None
    if found is None or not found.stdout.strip():
        pytest.skip(f"Go has no {module}: hack/go-program {name} fetches it")
    return Path(found.stdout.strip())


def _run(
    *command: str | Path, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    # No test fetches anything.
    env = {**os.environ, "GOPROXY": "off", "GOFLAGS": "-mod=readonly"}
    return subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
