"""Each policy can be taken out: then its own tests fail, and no others.

The lines of a policy in `order` are taken out in a process of its own, which runs the
tests of all policies. Crossings of two policies are in a folder of their own.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from asoreconcile.azure.reconcile.policies import order

HERE = Path(__file__).parent
OF_THE_CORE = {"core", "checks", "order"}
LISTS = [
    phases
    for place, phases in vars(order).items()
    if place.isupper() and isinstance(phases, tuple)
]
POLICIES = sorted(
    {one.__module__.rpartition(".")[2] for phases in LISTS for one in phases}
    - OF_THE_CORE
)
FAILED = re.compile(r"^(?:FAILED|ERROR) tests/policies/([^:]+)", re.MULTILINE)


def test_every_policy_has_a_folder_of_tests():
    folders = {path.parent.name for path in HERE.glob("*/test_*.py")}
    assert folders - {"crossings"} == set(POLICIES)


# A third by default: each takes a process.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if number % 3 == 0 else pytest.mark.long)
        for number, name in enumerate(POLICIES)
    ],
)
def test_without_a_policy_its_tests_fail_and_no_others(name):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("-p", "no:randomly", "--tb=no", "--rootdir", str(HERE.parents[1])),
            *(str(HERE / one) for one in POLICIES),
        ],
        cwd=HERE.parents[1],
        env={**os.environ, "ASORECONCILE_WITHOUT_POLICY": name, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    failed = {path.partition("/")[0] for path in FAILED.findall(done.stdout)}
    assert failed == {name}, done.stdout[-2000:] + done.stderr[-2000:]
