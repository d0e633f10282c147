"""Shared by all tests: the tests folder on the import path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# A package of its own, tested where it is installed (tests/acceptance).
collect_ignore = ["examples/change_freeze"]
