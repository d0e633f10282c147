"""The folder of recorded data: golden pairs, replay sets, recordings, the type index.

The data is not part of the project. `ASORECONCILE_DATA` names the folder; the default
is `shared/data` next to the checkout. Tests that need missing data are skipped, and say
so.
"""

import os
from pathlib import Path

import pytest

_CHECKOUT = Path(__file__).resolve().parent.parent


def data_folder(name: str) -> Path:
    """Return the path of a recorded file or folder. Skips the test if it is missing."""
    base = os.environ.get("ASORECONCILE_DATA") or _CHECKOUT.parent / "shared" / "data"
    path = Path(base) / name
    if not path.exists():
        pytest.skip(f"recorded data not found: {path} (set ASORECONCILE_DATA)")
    return path
