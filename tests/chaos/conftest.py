"""The trial's modules are imported by their names, as all of the tests' are."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
