"""Delays in the processes that a test starts (`operation`): on their PYTHONPATH, this
runs before anything else does.
"""

import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

import delays

delays.install(os.environ["ASORECONCILE_DELAYS"])
