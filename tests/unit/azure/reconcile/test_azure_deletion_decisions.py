"""What is done before and after a DELETE, as tables over facts."""

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.error_body import ErrorBody
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import PollState, Progress
from asoreconcile.azure.arm.tokens import DELETE, Token, TokenShape, dumps
from asoreconcile.azure.middleware.requests import InProgress, ResourceDeleted
from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
    POLLER_ID,
    POLLER_TOKEN,
)
from asoreconcile.azure.reconcile.model.decisions import (
    Decision,
    EmitEvent,
    PatchMetadata,
    Refused,
    RemoveFinalizer,
    Requeue,
    SetMetadata,
    UpdateMemory,
)
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.writes.deletion import after_delete, why_left
from asoreconcile.base.objects import GroupKind, ObjectKey

GROUP = "/subscriptions/s/resourceGroups/rg"
ID = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/vnet"
KIND = GroupKind("network.azure.com", "VirtualNetwork")
FIRST = ObjectReference(KIND, ObjectKey("ns", "first"))
FAR = ObjectReference(KIND, ObjectKey("other", "far"))
TYPE = "Microsoft.Network/virtualNetworks"
TOKEN = Token(TokenShape.LOCATION, DELETE, "https://arm.test/op/1", "InProgress")
PUTTING = {POLLER_TOKEN: "a create's", POLLER_ID: "x"}


def left(arm_id=ID, arm_type=TYPE, **given):
    return why_left(arm_id, arm_type, **{"is_own": True, "namespace": "ns", **given})


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
        ({"manager": FIRST}, "VirtualNetwork ns/first manages it"),
        ({"manager": FAR}, "VirtualNetwork other/far manages it"),
        ({"heir": FIRST}, "VirtualNetwork ns/first declares it too, and takes it over"),
    ],
)
def test_what_is_somebody_elses_stays_in_azure_and_is_told(given, words):
    assert words in left(**given)


def test_an_object_of_another_namespace_holds_a_deletion_up():
    with pytest.raises(ConditionError) as raised:
        left(heir=FAR)
    assert raised.value.reason == "DeclaredByAnother"
    for words in ("VirtualNetwork other/far", "Delete that object", "detach-on-delete"):
        assert words in str(raised.value)


def test_r5_3_what_is_gone_is_let_go():
    decided = after_delete(ResourceDeleted(), stored={}, now=100.0)
    assert decided == Decision((), RemoveFinalizer())


def test_r5_5_a_delete_that_takes_its_time_is_recorded_before_it_is_told():
    progress = Progress(client_request_id="one")
    answer = InProgress(token=TOKEN, after_seconds=10.0, progress=progress)
    decided = after_delete(answer, stored=PUTTING, now=100.0)
    assert decided == Decision(
        (
            UpdateMemory(poll=PollState(progress, 110.0)),
            PatchMetadata({POLLER_TOKEN: dumps(TOKEN), POLLER_ID: DELETE_POLLER}),
            EmitEvent("Normal", "BeginDelete", "Starting delete of resource"),
        ),
        Requeue(10.0),
    )


def test_a_delete_without_a_token_is_asked_for_again():
    decided = after_delete(InProgress(after_seconds=5.0), stored={}, now=100.0)
    assert [type(one) for one in decided.effects] == [EmitEvent]
    assert decided.then == Requeue(5.0)


def test_a_refused_delete_forgets_any_operation():
    error = ArmError(ErrorBody("InUse", "No."), status=409)
    decided = after_delete(error, stored=PUTTING, now=100.0)
    assert decided == Decision(
        (
            UpdateMemory(poll=PollState()),
            SetMetadata({POLLER_TOKEN: None, POLLER_ID: None}),
        ),
        Refused(error, "Delete"),
    )
