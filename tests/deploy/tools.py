"""The real programs that the installation is tried with, or why they are not there.

`hack/helm`, `hack/prometheus` and `hack/envtest` make them once; nothing is built here.
"""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "asoreconcile"


# That of KUBEBUILDER_ASSETS, which `hack/envtest` builds, or of the machine.
KUBECTL = shutil.which(
    "kubectl", path=f"{os.environ.get('KUBEBUILDER_ASSETS', '')}:{os.environ['PATH']}"
)
NEEDS_KUBECTL = pytest.mark.skipif(
    KUBECTL is None,
    reason="there is no kubectl: set KUBEBUILDER_ASSETS=$(hack/envtest)",
)


def program(command, name):
    """A program of the folder that `hack/COMMAND` prints. Skips where it is not made."""
    folder, problem = _folder(command)
    if problem:
        pytest.skip(f"{problem} (run hack/{command})")
    return str(folder / name)


def run(*arguments, given=None):
    """A program's output. Raises AssertionError with all it said if it fails."""
    done = attempt(*arguments, given=given)
    assert done.returncode == 0, f"{arguments[:3]}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def attempt(*arguments, given=None):
    """How a program ended, whatever it says."""
    return subprocess.run(
        [str(one) for one in arguments],
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )


def objects(text):
    """The objects of a text of YAML documents."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [one for one in yaml.load_all(text, Loader=loader) if one]


def one(found, kind, name=None):
    """The only object of a kind, or of a kind and name."""
    (it,) = [
        o for o in found if o["kind"] == kind and name in (None, o["metadata"]["name"])
    ]
    return it


@cache
def _folder(command):
    done = attempt(ROOT / "hack" / command, "--check")
    if done.returncode:
        return None, done.stderr.strip()
    return Path(done.stdout.strip()), ""
