"""Shared by all tests: the tests folder on the import path, and how examples are made.

HYPOTHESIS_PROFILE=explore looks for new examples, many more of them; =sample for as many
as there are always. ASORECONCILE_DELAYS=SEED delays everything (`delays`).
"""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from asoreconcile.redaction import forget_all

sys.path.insert(0, str(Path(__file__).parent))

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


@pytest.fixture(autouse=True)
def _as_if_alone():
    """No test sees what another has left behind in its process."""
    with processstate.kept():
        yield
    forget_all()  # what one test calls a secret is another's plain text
