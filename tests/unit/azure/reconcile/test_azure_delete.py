"""What is done before and after a DELETE, as tables over facts."""

import attrs
import pytest

from asoreconcile.azure.arm.condition_error import RetryClass
from asoreconcile.azure.arm.error_body import ErrorBody
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import PollState, Progress
from asoreconcile.azure.arm.tokens import DELETE, Token, TokenShape, dumps
from asoreconcile.azure.middleware.requests import InProgress, ResourceDeleted
from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
    FINALIZER,
    POLLER_ID,
    POLLER_TOKEN,
)
from asoreconcile.azure.reconcile.model.decisions import (
    Decision,
    Delete,
    EmitEvent,
    Fail,
    PatchMetadata,
    PatchSharedMetadata,
    Refused,
    RemoveFinalizer,
    Requeue,
    SetMetadata,
    Stop,
    UpdateMemory,
)
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.writes.delete import (
    DeleteFacts,
    after_delete,
    after_look,
    before_delete,
    released,
)
from asoreconcile.base.objects import GroupKind, ObjectKey

GROUP = "/subscriptions/s/resourceGroups/rg"
ID = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/vnet"
OLDER = ObjectReference(
    GroupKind("network.azure.com", "VirtualNetwork"), ObjectKey("ns", "first")
)
FACTS = DeleteFacts(
    arm_id=ID,
    arm_type="Microsoft.Network/virtualNetworks",
    is_own=True,
    older=None,
    seen="",
)
TOKEN = Token(TokenShape.LOCATION, DELETE, "https://arm.test/op/1", "InProgress")
PUTTING = {POLLER_TOKEN: "a create's", POLLER_ID: "x"}


def test_what_is_ones_own_is_deleted():
    assert before_delete(FACTS) == Decision((), Delete())
    loud = attrs.evolve(FACTS, arm_type=FACTS.arm_type.upper())
    assert before_delete(loud) == Decision((), Delete())


@pytest.mark.parametrize("arm_id", [GROUP, "no id", f"{ID}/subnets/a"])
def test_an_id_of_another_type_is_neither_deleted_nor_let_go(arm_id):
    decided = before_delete(attrs.evolve(FACTS, arm_id=arm_id, is_own=False))
    assert decided.effects == ()
    assert isinstance(decided.then, Fail)
    assert (decided.then.error.reason, decided.then.error.severity) == (
        "Failed",
        "Warning",
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"is_own": False}, "do not make that id"),
        ({"is_own": False, "seen": "/another"}, "/another, which its status names"),
        ({"older": OLDER}, "VirtualNetwork ns/first, which is older"),
    ],
)
def test_what_is_somebody_elses_stays_in_azure_and_is_told(given, words):
    decided = before_delete(attrs.evolve(FACTS, **given))
    _, told = decided.effects
    assert (told.type, told.reason) == ("Warning", "NotDeletedInAzure")
    assert words in told.message
    assert decided.then == RemoveFinalizer()


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


def test_r5_9_what_azure_cannot_delete_alone_waits_for_its_parent():
    assert after_look(is_absent=True, kind="Setting") == Decision((), RemoveFinalizer())
    decided = after_look(is_absent=False, kind="Setting")
    assert [one.reason for one in decided.effects] == ["NotPossibleInAzure"]
    error = decided.then.error
    assert error.reason == "DeletionNotSupportedInAzure"
    assert error.retry is RetryClass.VERY_SLOW
    assert "detach-on-delete" in str(error)


@pytest.mark.parametrize(
    ("arm_id", "seen", "told"),
    [
        ("", ID, ["NotDeletedInAzure"]),  # D10
        (ID, ID, []),
        ("", "", []),
    ],
)
def test_r5_2_what_stays_for_want_of_the_annotation_is_told(arm_id, seen, told):
    decided = released(["theirs", FINALIZER], arm_id=arm_id, seen=seen)
    *others, _, share = decided.effects
    assert [one.reason for one in others] == told
    assert share == PatchSharedMetadata({"finalizers": ["theirs"]})
    assert decided.then == Stop()


def test_what_has_no_finalizer_of_ours_is_let_go_without_a_word():
    assert released(["theirs"], arm_id="", seen=ID) == Decision((), Stop())
