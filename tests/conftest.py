"""Shared by all tests: the tests folder on the import path, and how examples are made.

HYPOTHESIS_PROFILE=explore looks for new examples, many more of them; =sample for as many
as there are always. ASORECONCILE_DELAYS=SEED and --slow-machine delay things (`delays`).
Tests marked `long` run only if ASORECONCILE_LONG is set (`hack/ci long`).
"""

import os
import random
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from asoreconcile.redaction import forget_all

sys.path.insert(0, str(Path(__file__).parent))
# The programs of contributors, imported by their names.
sys.path.append(str(Path(__file__).parents[1] / "hack"))

import processstate

# A package of its own, tested where it is installed (tests/acceptance).
collect_ignore = ["examples/change_freeze"]

# The same examples each time, and no verdict by the clock: a busy machine is no fault.
settings.register_profile(
    "replay",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "explore", settings.get_profile("replay"), derandomize=False, max_examples=2000
)
settings.register_profile("sample", settings.get_profile("replay"), derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "replay"))

if "ASORECONCILE_DELAYS" in os.environ:
    import delays

    delays.install(os.environ["ASORECONCILE_DELAYS"])


# Over every bound of a test's own, so that it fails with its own words.
_SLOW_TIMEOUT_SECONDS = 600
_SLOW = pytest.StashKey()


def pytest_addoption(parser):
    parser.addoption(
        "--slow-machine",
        metavar="SEED",
        help="delay requests, threads and processes now and then; `new` draws a seed",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    options = config.option
    if options.slow_machine is None:
        return
    if options.slow_machine == "new":
        # Once: the processes of pytest-xdist get the options as they are now.
        options.slow_machine = str(random.randrange(10**6))
    options.timeout = options.timeout or _SLOW_TIMEOUT_SECONDS
    # For the managers that tests start.
    os.environ["ASORECONCILE_SLOW_MACHINE"] = options.slow_machine
    import delays

    config.stash[_SLOW] = delays.slow_machine(options.slow_machine)


def pytest_report_header(config):
    seed = config.option.slow_machine
    return f"slow machine: seed {seed} (--slow-machine={seed})" if seed else []


def pytest_collection_modifyitems(config, items):
    if not os.environ.get("ASORECONCILE_LONG"):
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if _SLOW in item.config.stash:
        item.config.stash[_SLOW].begin(item.nodeid)


@pytest.fixture(autouse=True)
def _as_if_alone():
    """No test sees what another has left behind in its process."""
    with processstate.kept():
        yield
    forget_all()  # what one test calls a secret is another's plain text
