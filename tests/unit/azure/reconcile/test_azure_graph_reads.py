"""When Resource Graph is of use to syncs at all."""

import pytest

from asoreconcile.azure.reconcile.scope.graph_reads import is_new_enough


@pytest.mark.parametrize(
    ("period", "expected"), [(600.0, False), (601.0, True), (3600.0, True)]
)
def test_q9_a_short_period_is_over_before_a_query_says_anything(period, expected):
    assert is_new_enough(period, period / 2) is expected
