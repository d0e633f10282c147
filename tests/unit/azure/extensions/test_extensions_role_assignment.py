"""Role assignments by well-known name."""

import threading

import pytest
from extensions_chains import SUBSCRIPTION, cr, version

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.extensions.authorization.role_assignment import (
    BuiltInRoles,
    role_by_name,
)
from asoreconcile.azure.middleware.requests import ModifyPayload
from asoreconcile.azure.testing.extensions import FakeArm, arm_fault, fake_ctx, returns
from asoreconcile.testing.clock import FakeClock

KIND = "authorization/RoleAssignment"
LIST = "/providers/Microsoft.Authorization/roleDefinitions"
API = "2022-04-01"
READER = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
ASSIGNMENT = (
    f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg"
    "/providers/Microsoft.Authorization/roleAssignments/a"
)


def role(name, guid, type_="BuiltInRole"):
    return {"name": guid, "properties": {"roleName": name, "type": type_}}


def azure(*roles):
    return FakeArm().on("LIST", LIST, API, list(roles) or [role("Reader", READER)])


def modified(name, arm, *, roles=None, clock=None, arm_id=ASSIGNMENT):
    spec = {"roleDefinitionReference": {"wellKnownName": name} if name else {}}
    payload = {"properties": {"roleDefinitionId": name, "principalId": "p"}}
    ctx = fake_ctx(version(KIND), arm=arm, arm_id=arm_id, clock=clock)
    resolve = role_by_name(roles or BuiltInRoles())
    result = resolve(ModifyPayload(ctx, cr(KIND, spec=spec), payload), returns(payload))
    assert result["properties"]["principalId"] == "p"
    return result["properties"]["roleDefinitionId"]


@pytest.mark.parametrize("name", ["Reader", "reader", "READER"])
def test_a_name_becomes_the_roles_id_in_the_assignments_subscription(name):
    assert modified(name, azure()) == f"/subscriptions/{SUBSCRIPTION}{LIST}/{READER}"


def test_an_assignment_above_subscriptions_gets_the_tenants_id():
    above = (
        "/providers/Microsoft.Management/managementGroups/mg"
        "/providers/Microsoft.Authorization/roleAssignments/a"
    )
    assert modified("Reader", azure(), arm_id=above) == f"{LIST}/{READER}"


def test_a_reference_by_id_makes_no_request():
    assert modified(None, FakeArm()) is None


def test_roles_are_listed_once_for_the_process():
    arm, roles = azure(), BuiltInRoles()
    for _ in range(3):
        modified("Reader", arm, roles=roles)
    assert arm.sent == [("LIST", LIST, API)]


def test_a_custom_role_of_the_same_name_does_not_count():
    with pytest.raises(ConditionError, match="'Reader'"):
        modified("Reader", azure(role("Reader", "x", "CustomRole")))


def test_an_unknown_name_says_where_the_names_are():
    with pytest.raises(ConditionError, match=r"'Raeder'.*https://") as raised:
        modified("Raeder", azure())
    assert raised.value.reason == "Failed"


def test_a_role_new_in_azure_is_found_by_listing_again_once_some_minutes_passed():
    clock, roles = FakeClock(), BuiltInRoles()
    arm = azure(role("Reader", READER))
    arm.on("LIST", LIST, API, [role("Reader", READER), role("New", "guid")])
    modified("Reader", arm, roles=roles, clock=clock)
    with pytest.raises(ConditionError):
        modified("New", arm, roles=roles, clock=clock)
    assert len(arm.sent) == 1
    clock.advance(600)
    assert modified("New", arm, roles=roles, clock=clock).endswith("/guid")
    assert len(arm.sent) == 2


def test_a_misspelt_name_retried_for_ever_lists_seldom():
    clock, roles, arm = FakeClock(), BuiltInRoles(), azure()
    for _ in range(20):
        with pytest.raises(ConditionError):
            modified("Raeder", arm, roles=roles, clock=clock)
        clock.advance(60)
    assert len(arm.sent) <= 5


def test_the_list_is_read_anew_after_a_day():
    clock, roles, arm = FakeClock(), BuiltInRoles(), azure()
    modified("Reader", arm, roles=roles, clock=clock)
    clock.advance(25 * 3600)
    modified("Reader", arm, roles=roles, clock=clock)
    assert len(arm.sent) == 2


def test_a_listing_that_fails_is_tried_again_next_time():
    roles = BuiltInRoles()
    arm = FakeArm().on("LIST", LIST, API, arm_fault(500, "InternalServerError"))
    arm.on("LIST", LIST, API, [role("Reader", READER)])
    with pytest.raises(type(arm_fault(500, "x"))):
        modified("Reader", arm, roles=roles)
    assert modified("Reader", arm, roles=roles).endswith(READER)


def test_threads_that_come_together_share_one_listing():
    arm, roles, clock = azure(), BuiltInRoles(), FakeClock()
    barrier = threading.Barrier(8, timeout=10)
    found = []

    def one():
        barrier.wait()
        found.append(modified("Reader", arm, roles=roles, clock=clock))

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(found) == 8
    assert len(arm.sent) == 1


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"properties": None},
        {"properties": {"roleName": "Odd", "type": "BuiltInRole"}},
        {"name": None, "properties": {"roleName": "Odd", "type": "BuiltInRole"}},
        {"name": "", "properties": {"roleName": "Odd", "type": "BuiltInRole"}},
        role(None, READER),
        role(["Odd"], "guid"),
        role("Odd", 5),
    ],
    ids=repr,
)
def test_what_is_no_role_among_the_roles_is_passed_over(odd):
    arm = azure(odd, role("Reader", READER))
    roles = BuiltInRoles()
    assert modified("Reader", arm, roles=roles).endswith(READER)
    for name in ("Odd", "None", "['Odd']"):
        with pytest.raises(ConditionError, match="no built-in role"):
            modified(name, arm, roles=roles)
