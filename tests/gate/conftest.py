"""The programs of `hack/` are imported by their names."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "hack"))
