"""Scopes and types in the lists of a Namespace, as a table."""

import pytest

from asoreconcile.azure.reconcile.model.annotations import (
    ALLOWED_SCOPES,
    ALLOWED_TYPES,
)
from asoreconcile.azure.reconcile.model.reach import why_out_of_reach

GROUP = "/subscriptions/S/resourceGroups/red"
VNET = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/v"
TYPE = "Microsoft.Network/virtualNetworks"


@pytest.mark.parametrize(
    ("scopes", "is_allowed"),
    [
        (None, True),
        (GROUP, True),
        (f" {GROUP.upper()}/ , /subscriptions/T", True),
        ("/subscriptions/s", True),
        (VNET, True),
        ("/subscriptions/S/resourceGroups/re", False),
        (f"{VNET}/subnets", False),
        ("", False),
        (",", False),
        ("/", False),
        ("subscriptions/S", False),
        (f"{GROUP}, *", False),  # an unreadable list allows nothing
    ],
)
def test_a_scope_allows_what_is_below(scopes, is_allowed):
    notes = {} if scopes is None else {ALLOWED_SCOPES: scopes}
    assert (why_out_of_reach(VNET, TYPE, notes) == "") is is_allowed


@pytest.mark.parametrize(
    ("types", "is_allowed"),
    [
        (TYPE.lower(), True),
        ("Microsoft.Storage, Microsoft.Network", True),
        ("Microsoft.Net", False),
        (f"{TYPE}/subnets", False),
        ("*", False),
        ("", False),
    ],
)
def test_a_type_allows_those_below(types, is_allowed):
    notes = {ALLOWED_TYPES: types}
    assert (why_out_of_reach(VNET, TYPE, notes) == "") is is_allowed
    assert (why_out_of_reach("", TYPE, notes) == "") is is_allowed
    assert why_out_of_reach(VNET, TYPE, {**notes, ALLOWED_SCOPES: "/subscriptions/T"})


def test_a_letter_that_folds_to_one_of_ascii_is_another_name():
    """The Kelvin sign in lower case is a `k`, but Azure takes it for another letter."""
    notes = {ALLOWED_SCOPES: "/subscriptions/S/resourceGroups/kit"}
    for group, is_allowed in (("kit", True), ("KIT", True), ("\u212ait", False)):
        arm_id = f"/subscriptions/S/resourceGroups/{group}/providers/A.B/c/d"
        assert (why_out_of_reach(arm_id, "A.B/c", notes) == "") is is_allowed
    types = {ALLOWED_TYPES: "Microsoft.Kusto"}
    assert why_out_of_reach("", "Microsoft.\u212austo/clusters", types)
    assert not why_out_of_reach("", "MICROSOFT.KUSTO/clusters", types)
