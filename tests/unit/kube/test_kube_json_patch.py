"""The patch between two documents makes one into the other."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asoreconcile.base.objects import copy_json
from asoreconcile.kube.json_patch import changes
from asoreconcile.testing.kube.fields.patches import json_patch

LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from("ab~/")
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["a", "b", "~", "/", "~1"]), inner, max_size=3
        )
    ),
    max_leaves=10,
)
DOCUMENTS = st.dictionaries(st.sampled_from(["a", "b/c", "d~e"]), VALUES, max_size=3)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({"a": 1}, {"a": 1}, [], id="WH-5-unchanged"),
        ({"a": 1}, {"a": 2}, [{"op": "replace", "path": "/a", "value": 2}]),
        ({"a": 1}, {}, [{"op": "remove", "path": "/a"}]),
        ({}, {"a/b": 0}, [{"op": "add", "path": "/a~1b", "value": 0}]),
        ({"a": True}, {"a": 1}, [{"op": "replace", "path": "/a", "value": 1}]),
        ({"a": [1]}, {"a": [1, 2]}, [{"op": "add", "path": "/a/-", "value": 2}]),
        (
            {"a": [1, 2, 3]},
            {"a": [1]},
            [{"op": "remove", "path": "/a/2"}, {"op": "remove", "path": "/a/1"}],
        ),
    ],
)
def test_the_operations_are_the_fewest(before, after, expected):
    assert changes(before, after) == expected


@given(before=DOCUMENTS, after=DOCUMENTS)
def test_wh5_an_api_server_that_applies_the_patch_gets_the_result(before, after):
    patched = json_patch(copy_json(before), changes(before, after))
    assert text(patched) == text(after)


def text(document):
    """Tells true from 1, which Python does not."""
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
