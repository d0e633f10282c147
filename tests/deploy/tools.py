"""The real programs that test the installation, or why they are missing.

`hack/helm`, `hack/prometheus` and `hack/envtest` make them once. Nothing is built here.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "asoreconcile"


# The folder of KUBEBUILDER_ASSETS, which `hack/envtest` builds, or of the machine.
KUBECTL = shutil.which(
    "kubectl", path=f"{os.environ.get('KUBEBUILDER_ASSETS', '')}:{os.environ['PATH']}"
)
NEEDS_KUBECTL = pytest.mark.skipif(
    KUBECTL is None,
    reason="there is no kubectl: set KUBEBUILDER_ASSETS=$(hack/envtest)",
)


def program(command: str, name: str) -> str:
    """Return a program of the folder that `hack/COMMAND` prints. Skips if it is
    missing.
    """
    folder, problem = _folder(command)
    if problem:
        pytest.skip(f"{problem} (run hack/{command})")
    return str(folder / name)


def run(*arguments: object, given: str | None = None) -> str:
    """Return a program's output. Raises AssertionError with all output if it fails."""
    done = attempt(*arguments, given=given)
    assert done.returncode == 0, f"{arguments[:3]}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def attempt(
    *arguments: object, given: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Return the result of a program, successful or not."""
    return subprocess.run(
        [str(one) for one in arguments],
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )


def objects(text: str) -> list[Any]:
    """Return the objects in a text of YAML documents."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [one for one in yaml.load_all(text, Loader=loader) if one]


def one(found: Iterable[Any], kind: str, name: str | None = None) -> Any:
    """Return the only object of a kind, or of a kind and name."""
    (it,) = [
        o for o in found if o["kind"] == kind and name in (None, o["metadata"]["name"])
    ]
    return it


@cache
def _folder(command: str) -> tuple[Path, str]:
    done = attempt(ROOT / "hack" / command, "--check")
    if done.returncode:
        return Path(), done.stderr.strip()
    return Path(done.stdout.strip()), ""
