"""What many unit tests begin with."""

import pytest
from prometheus_client import CollectorRegistry

from asoreconcile.testing.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()
