"""Escaped field names, and resource ids taken apart."""

import pytest

from asoreconcile.azure.expressions.proto_schema import escaped
from asoreconcile.azure.expressions.resource_ids import ResourceIdError, parse


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain", "plain"),
        ("a_b", "a_b"),
        ("a__b", "a__underscores__b"),
        ("a___b", "a__underscores___b"),
        ("a-b.c/d", "a__dash__b__dot__c__slash__d"),
        ("in", "__in__"),
        ("inner", "inner"),
        ("namespace", "namespace"),
    ],
)
def test_field_names_are_escaped(name, expected):
    assert escaped(name) == expected


def summary(found):
    return (
        found.subscription_id,
        found.resource_group,
        "/".join(found.type),
        found.name,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/subscriptions/s", ("s", "", "Microsoft.Resources/subscriptions", "s")),
        (
            "/subscriptions/s/resourcegroups/rg",
            ("s", "rg", "Microsoft.Resources/resourceGroups", "rg"),
        ),
        (
            "/subscriptions/s/resourceGroups/rg/providers/A.B/c/d/e/f",
            ("s", "rg", "A.B/c/e", "f"),
        ),
        (
            "/subscriptions/s/resourceGroups/rg/providers/A.B/c/d/providers/X.Y/z/w",
            ("s", "rg", "X.Y/z", "w"),
        ),
        ("/providers/A.B/c/d", ("", "", "A.B/c", "d")),
        ("/subscriptions/s/providers/A.B/c/d", ("s", "", "A.B/c", "d")),
        (
            "/subscriptions/s/resourceGroups/rg/providers/A.B/c/d/things",
            ("s", "rg", "A.B/c/things", ""),
        ),
    ],
)
def test_resource_ids_are_taken_apart(text, expected):
    assert summary(parse(text)) == expected


def test_provider_and_location_are_those_of_their_segments():
    at_provider = parse("/subscriptions/s/providers/A.B")
    assert (at_provider.provider, at_provider.type[1]) == ("A.B", "providers")
    assert parse("/subscriptions/s/locations/weu/things/t").location == "weu"


def test_parents_reach_up_to_the_tenant():
    found = parse("/subscriptions/s/resourceGroups/rg/providers/A.B/c/d/e/f")
    names = []
    while found is not None:
        names.append(found.name)
        found = found.parent
    assert names == ["f", "d", "rg", "s", ""]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "subscriptions/s",
        "/subscriptions",
        "/tenants/t",
        "/subscriptions/s/resourceGroups",
        "/subscriptions/s/resourceGroups/rg/things",
        "/subscriptions/s/resourceGroups/rg/providers/A.B",
        "/subscriptions/s/resourceGroups/rg/providers/A.B/c",
    ],
)
def test_what_is_no_resource_id_is_refused(text):
    with pytest.raises(ResourceIdError):
        parse(text)
