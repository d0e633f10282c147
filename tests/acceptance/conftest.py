"""Fixtures for tests of the whole operator: the API servers that it runs on."""

from functools import partial
from typing import Any

import pytest
from clusters import TARGETS, cluster


@pytest.fixture(params=TARGETS, scope="module")
def make_cluster(request: pytest.FixtureRequest) -> partial[Any]:
    """Return a function that makes API servers of one sort:
    `make_cluster(rbac=True)`.
    """
    return partial(cluster, request.param)
