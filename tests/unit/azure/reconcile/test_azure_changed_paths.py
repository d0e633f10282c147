"""Which paths of a status are named as changed."""

import pytest

from asoreconcile.azure.reconcile.model.differences import changed_paths

BEFORE = {
    "tags": {"a": "1"},
    "etag": "x",
    "subnets": [{"name": "a", "size": 1}, {"name": "b"}],
    "none": None,
}


@pytest.mark.parametrize(
    ("after", "paths"),
    [
        (BEFORE, ()),
        ({**BEFORE, "etag": "y", "provisioningState": "Updating"}, ()),
        ({**BEFORE, "other": None}, ()),
        ({**BEFORE, "tags": {"a": "2", "b": "3"}}, ("tags.a", "tags.b")),
        ({**BEFORE, "tags": None}, ("tags",)),
        (
            {**BEFORE, "subnets": [{"name": "a", "size": 2}, {"name": "b"}]},
            ("subnets[0].size",),
        ),
        ({**BEFORE, "subnets": []}, ("subnets",)),
        ({**BEFORE, "none": {"a": 1}}, ("none",)),
    ],
)
def test_what_differs_is_named_and_nothing_else(after, paths):
    assert changed_paths(BEFORE, after) == paths
