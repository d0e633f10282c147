"""Delays in the processes that a test starts (`operation`).

The folder is on their PYTHONPATH, so Python runs this before anything else.
"""

import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

import delays

if seed := os.environ.get("ASORECONCILE_SLOW_MACHINE"):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    delays.slow_machine(seed).begin(test)
else:
    delays.install(os.environ["ASORECONCILE_DELAYS"])
