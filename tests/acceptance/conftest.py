"""Which API servers the operator is tested on."""

from functools import partial

import pytest
from clusters import TARGETS, cluster


@pytest.fixture(params=TARGETS, scope="module")
def make_cluster(request):
    """Makes API servers of one sort: `make_cluster(rbac=True)`."""
    return partial(cluster, request.param)
