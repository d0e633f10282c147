"""The reasons to leave a resource in Azure in place of a DELETE, as tables."""

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.policies.sole_manager import why_left

GROUP = "/subscriptions/s/resourceGroups/rg"
ID = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/vnet"
TYPE = "Microsoft.Network/virtualNetworks"


def left(arm_id=ID, arm_type=TYPE, **given):
    return why_left(arm_id, arm_type, **{"is_own": True, **given})


def test_what_is_ones_own_is_deleted():
    assert left() == ""
    assert left(arm_type=TYPE.upper()) == ""


@pytest.mark.parametrize("arm_id", [GROUP, "no id", f"{ID}/subnets/a"])
def test_an_id_of_another_type_is_neither_deleted_nor_let_go(arm_id):
    with pytest.raises(ConditionError) as raised:
        left(arm_id, is_own=False)
    assert (raised.value.reason, raised.value.severity) == ("Failed", "Warning")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"is_own": False}, "do not make that id"),
        ({"is_own": False, "seen": "/another"}, "/another, which its status names"),
    ],
)
def test_what_is_somebody_elses_stays_in_azure_and_is_told(given, words):
    assert words in left(**given)
