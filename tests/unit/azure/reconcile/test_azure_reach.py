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
