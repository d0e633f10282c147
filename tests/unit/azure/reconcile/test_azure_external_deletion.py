"""Whether what Azure shows is what it showed before, or made again (I6)."""

import pytest

from asoreconcile.azure.reconcile.model.birth import is_another
from asoreconcile.azure.reconcile.model.external_deletion import is_recreated

GROUPS = "Microsoft.Resources/resourceGroups"
TOPICS = "Microsoft.EventGrid/topics"
SEEN = {"id": "x", "conditions": []}
DATED = {**SEEN, "systemData": {"createdAt": "2024-05-06T03:07:29Z"}}


@pytest.mark.parametrize(
    ("before", "arm_type", "is_absent", "created", "expected"),
    [
        ({}, GROUPS, True, True, False),
        ({"conditions": [{}]}, GROUPS, True, True, False),
        (SEEN, GROUPS, True, False, True),
        (SEEN, GROUPS, False, True, True),
        (SEEN, GROUPS, False, False, False),
        (SEEN, TOPICS, False, True, False),
        (SEEN, TOPICS, True, True, True),
        (DATED, GROUPS, False, True, False),
        ({**SEEN, "resourceGuid": "g"}, GROUPS, False, True, False),
    ],
    ids=[
        "I6-first",
        "I6-never-shown",
        "I6-read-404",
        "I6-201",
        "I6-200",
        "I6-201-to-updates",
        "I6-read-404-any-provider",
        "I6-dated-waits-for-the-read",
        "I6-guid-waits-for-the-read",
    ],
)
def test_i6_a_put_tells_that_it_makes_again(
    before, arm_type, is_absent, created, expected
):
    told = is_recreated(before, arm_type=arm_type, is_absent=is_absent, created=created)
    assert told is expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {"systemData": {"createdAt": "2024-05-06T03:07:29Z"}}, False),
        ({"resourceGuid": "A"}, {"resourceGuid": "a"}, False),
        ({"resourceGuid": "a"}, {"resourceGuid": "b"}, True),
        ({"resourceGuid": "a"}, {}, False),
        (
            {"systemData": {"createdAt": "2024-05-06T03:07:29.1125236+00:00"}},
            {"systemData": {"createdAt": "2024-05-06T03:07:29Z"}},
            False,
        ),
        ({"creationTime": "2024-05-06T03:07:29"}, {"creationTime": "2024-05-06T03:07:29Z"}, False),
        ({"creationTime": "2024-05-06T03:07:29Z"}, {"creationTime": "2024-05-07T03:07:29Z"}, True),
        ({"createdAt": "yesterday"}, {"createdAt": "today"}, False),
        ({"createdAt": 5}, {"createdAt": {"a": 1}}, False),
    ],
)  # fmt: skip
def test_i6_birth_marks_tell_one_resource_from_the_next(before, after, expected):
    assert is_another(before, after) is expected
