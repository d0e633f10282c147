"""An object passes few modules of the Azure reconciler more than once."""

import pytest
from reconcilepath import follow

# Returns to a module that was left, on the way to a PUT, of a sync and of a deletion;
# `hack/path --list` shows each. A number may fall, and rises only for a reason.
# Half of 184, 192 and 121; two for the look at the policy before a PUT or DELETE; one
# and three for the annotations that hold a request back; two for the question whether a
# PUT is the first; and the record of the claim, which is verified, and written with the
# claim and with the PUT.
MAX_RETURNS = {"put": 140, "sync": 113, "deletion": 77}


@pytest.mark.parametrize("path", MAX_RETURNS)
def test_an_object_goes_straight_through_the_modules(path):
    course = follow(path)
    assert 0 < course.returns <= MAX_RETURNS[path]
