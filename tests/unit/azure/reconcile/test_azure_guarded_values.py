"""Values that Azure may have moved: their paths, and their last writer."""

import pytest

from asoreconcile.azure.catalogue.body_shape import body_paths
from asoreconcile.azure.catalogue.type_facts import type_facts
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.middleware.declared import Declared
from asoreconcile.azure.reconcile.model.differences import Difference
from asoreconcile.azure.reconcile.model.guarded_values import (
    guarded_differences,
    rows_of,
    was_changed_by_client,
)
from asoreconcile.azure.reconcile.model.merged_body import MergeRules, merged

PUT_AT = "2026-01-01T00:00:00Z"
COSMOS = "Microsoft.DocumentDB/databaseAccounts"
PRIORITY = Difference("properties/locations[West US]/failoverPriority", "value", 0, 1)
SIZE = Difference("properties/capacity/totalThroughputLimit", "value", 1, 2)


def changed(by="", at="2026-01-02T00:00:00Z"):
    return {"systemData": {"lastModifiedByType": by, "lastModifiedAt": at}}


@pytest.mark.parametrize(
    ("have", "expected"),
    [
        ({}, False),
        ({"systemData": None}, False),
        (changed(), False),
        (changed("User"), True),
        (changed("application"), True),
        (changed("ManagedIdentity"), True),
        (changed("Service"), False),
        # Our own PUT, or a write before it.
        (changed("User", "2026-01-01T00:00:30Z"), False),
        (changed("User", "2025-12-31T00:00:00.1234567Z"), False),
        (changed("User", "yesterday"), False),
        (changed("User", "2026-01-02T00:00:00"), False),
        (changed("User", "9999-12-31T23:59:59Z"), True),
        (changed("User", 5), False),
    ],
)
def test_ow8_a_client_is_the_last_writer_only_if_azure_says_so(have, expected):
    assert was_changed_by_client(have, PUT_AT) is expected
    left = guarded_differences(COSMOS, [PRIORITY, SIZE], have, PUT_AT)
    assert left == ([] if expected else [PRIORITY])


def test_ow8_nothing_is_guarded_without_a_recorded_put():
    assert guarded_differences(COSMOS, [PRIORITY], {}, "") == []
    assert guarded_differences("Microsoft.Network/none", [PRIORITY], {}, PUT_AT) == []


def test_ow8_a_put_for_another_reason_has_azure_s_value_without_its_other_members():
    want = {
        "properties": {
            "locations": [
                {"locationName": "westus", "failoverPriority": 0},
                {"locationName": "eastus", "failoverPriority": 1},
            ]
        }
    }
    have = {
        "properties": {
            "locations": [
                {"id": "e", "locationName": "East US", "failoverPriority": 0},
                {"id": "w", "locationName": "West US", "failoverPriority": 1},
            ]
        }
    }
    rules = MergeRules(moving=rows_of(COSMOS, [PRIORITY]))
    assert merged(want, have, rules, Declared()).body["properties"]["locations"] == [
        {"locationName": "East US", "failoverPriority": 0},
        {"locationName": "West US", "failoverPriority": 1},
    ]


def test_each_row_is_a_path_of_a_body():
    """A row that names nothing would guard nothing."""
    paths = {}
    for kind in builtin().kinds():
        for version in map(kind.version, kind.versions) if kind.is_arm else ():
            paths.setdefault(version.arm_type.lower(), set()).update(
                body_paths(version)
            )
    wrong = [
        (type_, row.moved)
        for type_, facts in type_facts().items()
        for row in facts.guarded
        if "/".join(filter(None, (row.inside, row.moved))).lower() not in paths[type_]
    ]
    assert not wrong
