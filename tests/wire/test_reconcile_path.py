"""An object passes few modules of the Azure reconciler more than once."""

import pytest
from reconcilepath import follow

# Returns to a module that was left, on the way to a PUT, of a sync and of a deletion;
# `hack/path --list` shows each. A number may fall, and rises only for a reason.
MAX_RETURNS = {"put": 88, "sync": 74, "deletion": 52}


@pytest.mark.parametrize("path", MAX_RETURNS)
def test_an_object_goes_straight_through_the_modules(path):
    course = follow(path)
    assert 0 < course.returns <= MAX_RETURNS[path]
