"""The modules of the trial are imported by their names, as in all tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
