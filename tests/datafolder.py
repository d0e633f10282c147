"""Where the recorded data is: golden pairs, replay sets, recordings, the type index.

It is never part of the project. `ASORECONCILE_DATA` names its folder, else a folder
`shared/data` beside the checkout; tests over it skip, saying so, where it is absent.
"""

import os
from pathlib import Path

import pytest

_CHECKOUT = Path(__file__).resolve().parent.parent


def data_folder(name: str) -> Path:
    """The path of one recorded file or folder; skips the calling test without it."""
    base = os.environ.get("ASORECONCILE_DATA") or _CHECKOUT.parent / "shared" / "data"
    path = Path(base) / name
    if not path.exists():
        pytest.skip(f"recorded data not found: {path} (set ASORECONCILE_DATA)")
    return path
