"""Setup of all tests: the import path of the tests folder, and hypothesis profiles.

HYPOTHESIS_PROFILE=explore searches for new examples, many more than usual; =sample for
the usual number. ASORECONCILE_DELAYS=SEED and --slow-machine delay things (`delays`).
Tests marked `long` run only if ASORECONCILE_LONG is set (`hack/ci long`). Modules whose
tests need a `world` define `start`, a `World` of the module's scope.
"""

import gc
import itertools
import os
import random
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, settings

from asoreconcile.redaction import forget_all

sys.path.insert(0, str(Path(__file__).parent))
# The programs of contributors, imported by their names.
sys.path.append(str(Path(__file__).parents[1] / "hack"))

import processstate
from startstate import StartState

# Tests read thousands of documents with `yaml.safe_load`; libyaml is ten times as fast.
yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # type: ignore[misc]

# This is a package of its own, tested after its installation (tests/acceptance).
collect_ignore = ["examples/change_freeze"]

# Examples are the same each time, and no test fails because of the time, because a busy
# machine is not a fault.
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


# This is longer than every time limit of a single test, so that tests fail with their
# own messages.
_SLOW_TIMEOUT_SECONDS = 600
_SLOW = pytest.StashKey[Any]()
_KUBECTL = pytest.StashKey[Iterator[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--slow-machine",
        metavar="SEED",
        help="delay requests, threads and processes now and then; `new` draws a seed",
    )

    parser.addoption(
        "--samples",
        metavar="FOLDER",
        default=os.environ.get("ASORECONCILE_SAMPLES"),
        help="a copy of ASO's published samples (v2/samples), all of which must pass",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    folder = tempfile.TemporaryDirectory(prefix="kubectl-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    config.stash[_KUBECTL] = (f"{folder.name}/{n}" for n in itertools.count())
    options = config.option
    if options.slow_machine is None:
        return
    if options.slow_machine == "new":
        # This runs once: the processes of pytest-xdist get the options as they are now.
        options.slow_machine = str(random.randrange(10**6))
    options.timeout = options.timeout or _SLOW_TIMEOUT_SECONDS
    # For the managers that tests start.
    os.environ["ASORECONCILE_SLOW_MACHINE"] = options.slow_machine
    import delays

    config.stash[_SLOW] = delays.slow_machine(options.slow_machine)


def pytest_report_header(config: pytest.Config) -> str | list[str]:
    seed = config.option.slow_machine
    return f"slow machine: seed {seed} (--slow-machine={seed})" if seed else []


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    if not os.environ.get("ASORECONCILE_LONG"):
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, because items stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    # kubectl keeps the kinds of a server by its address, and the server of another test
    # may have had the same port.
    folders = item.config.stash[_KUBECTL]
    os.environ["KUBECACHEDIR"] = next(folders)
    if _SLOW in item.config.stash:
        item.config.stash[_SLOW].begin(item.nodeid)


@pytest.fixture(autouse=True)
def _as_if_alone() -> Iterator[None]:
    """Restore the process's state after each test, so that tests are independent."""
    with processstate.kept():
        yield
    forget_all()  # text that is a secret in one test is plain text in another


@pytest.fixture(scope="module")
def module_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the module's tests."""
    return tmp_path_factory.mktemp("module")


@pytest.fixture(scope="module")
def start_state(start: Any) -> StartState:
    return StartState(start)


@pytest.fixture
def world(start: Any, start_state: StartState) -> Iterator[Any]:
    """The module's world, in the state in which `start` left it."""
    start_state.restore()
    yield start
    start.cluster.faults.release_all()
    start.azure.faults.release_all()
