"""The newest and the oldest dependencies allowed, and a short suite with them.

Only the package's own dependencies vary; the tools that run the tests are at their
locked versions.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
# Tests that go through a dependency rather than through the package alone.
SUITE = (
    "tests/contract",
    "tests/unit/kube",
    "tests/unit/resources",
    "tests/unit/webhooks",
    "tests/unit/azure/cmd",
    "tests/unit/azure/entra",
    "tests/unit/azure/expressions",
    "tests/unit/azure/sql_users",
    "tests/wire/test_wire_pool.py",
    "tests/parity/test_golden.py",
)
Which = Literal["newest", "oldest"]
RESOLUTIONS: dict[Which, str] = {"newest": "highest", "oldest": "lowest-direct"}


def requirements(pyproject: str, lock: str) -> list[str]:
    """Return the requirements to install.

    pyproject, lock: the texts of `pyproject.toml` and of the lock of the tests.
    """
    project = tomllib.loads(pyproject)["project"]
    extras = project["optional-dependencies"]
    shipped = [*project["dependencies"]]
    for extra, more in extras.items():
        if extra != "dev":
            shipped += more
    own = canonicalize_name(project["name"])
    found = {canonicalize_name(Requirement(one).name): one for one in shipped}
    locked = dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", lock, flags=re.MULTILINE))
    for name in [canonicalize_name(Requirement(one).name) for one in extras["dev"]]:
        if name not in found and name != own:
            found[name] = f"{name}=={locked[name]}"
    return [text for name, text in found.items() if name != own]


def run(*command: str | Path) -> int:
    """Run a command in the root of the repository; its exit code."""
    return subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False
    ).returncode


def main(which: Which, arguments: list[str]) -> int:
    """Install the versions in an environment of their own, and run the short suite."""
    venv = ROOT / f".venv-{which}"
    python = venv / "bin" / "python"
    asked = requirements(
        (ROOT / "pyproject.toml").read_text(),
        (ROOT / "tests" / "requirements.txt").read_text(),
    )
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    pip += ["--python", str(python), "install"]
    # pip alone cannot choose the oldest.
    uv = [str(venv / "bin" / "uv"), "pip", "install", "--quiet"]
    uv += ["--python", str(python)]
    code = (
        run(sys.executable, "-m", "venv", "--clear", "--without-pip", venv)
        or run(*pip, "uv>=0.9")
        or run(*uv, "--resolution", RESOLUTIONS[which], *asked)
        or run(*pip, "--no-deps", "--no-build-isolation", "--editable", ROOT)
    )
    if code:
        print(f"hack/versions: cannot install the {which} versions", file=sys.stderr)
        return code
    program: list[str | Path] = [python, ROOT / "hack" / "test.py"]
    given = arguments or [*SUITE, "-m", "not real"]
    return run(*program, "-n", "3", "--dist", "worksteal", "-q", *given)
