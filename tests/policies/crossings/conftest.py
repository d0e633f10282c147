"""Crossings of policies make worlds of their own, one a module."""

import pytest
from startstate import StartState


@pytest.fixture(scope="module")
def start_state(start):
    return StartState(start)
