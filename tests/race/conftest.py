"""An interpreter that switches threads far more often than usual (TH-11)."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def impatient_interpreter() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)
