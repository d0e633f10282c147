"""What has the keys of a resource fetched again, and what has not."""

import pytest

from asoreconcile.azure.reconcile.model.annotations import (
    LATEST_RECONCILED_GENERATION,
    OWN_PREFIX,
)
from asoreconcile.azure.reconcile.state.export_cache import (
    ROTATE,
    fingerprint,
    note,
    noted_versions,
)
from asoreconcile.base.objects import copy_json

OBJ = {
    "metadata": {"name": "a", "generation": 1, "labels": {"l": "1"}, "annotations": {}},
    "spec": {"operatorSpec": {"secrets": {"key": {"name": "s", "key": "k"}}}},
    "status": {"id": "/x", "conditions": []},
}


def changed(path, value):
    obj = copy_json(OBJ)
    *above, last = path
    inner = obj
    for step in above:
        inner = inner[step]
    inner[last] = value
    return obj


@pytest.mark.parametrize(
    ("path", "value", "differs"),
    [
        (("metadata", "generation"), 2, True),
        (("metadata", "labels", "l"), "2", True),
        (("metadata", "annotations", "example.com/a"), "2", True),
        (("metadata", "annotations", ROTATE), "2", True),
        (("spec", "operatorSpec"), {}, True),
        (("status", "id"), "/y", True),
        (("status", "conditions"), [{"type": "Ready"}], False),
        (("metadata", "annotations", LATEST_RECONCILED_GENERATION), "2", False),
        (("metadata", "annotations", OWN_PREFIX + "observed"), "2", False),
        (("metadata", "resourceVersion"), "2", False),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else "",
)
def test_keys_are_made_from_what_they_are_made_from(path, value, differs):
    after = changed(path, value)
    assert (fingerprint(after) != fingerprint(OBJ)) is differs
    expected = {} if differs else {"s": "7"}
    assert noted_versions(after, note(OBJ, {"s": "7"})) == expected


@pytest.mark.parametrize("text", ["", "garbage", "[]", '{"of": "x"}'])
def test_a_note_that_somebody_spoiled_counts_for_nothing(text):
    assert noted_versions(OBJ, text) == {}
