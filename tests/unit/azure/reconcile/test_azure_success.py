"""What follows a PUT that ended well, as tables over facts."""

import attrs
import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.arm.error_body import ErrorBody
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm.outcomes import PollState
from asoreconcile.azure.middleware.context import SuboperationPending
from asoreconcile.azure.middleware.requests import NotReady, Ready
from asoreconcile.azure.reconcile.model.annotations import (
    INPUTS,
    LATEST_RECONCILED_GENERATION,
    POLLER_ID,
    POLLER_TOKEN,
)
from asoreconcile.azure.reconcile.model.decisions import (
    Decision,
    Fail,
    Follows,
    PatchStatus,
    PostCheck,
    PreparePut,
    Read,
    Requeue,
    SetMetadata,
    Succeeded,
    UpdateMemory,
    WriteExports,
)
from asoreconcile.azure.reconcile.model.put_ledger import PutRecord
from asoreconcile.azure.reconcile.writes.success import (
    EndFacts,
    ReadFacts,
    after_check,
    after_error,
    after_export,
    after_read,
)
from asoreconcile.base.errors import RetryError, StoppedError

ID = "/subscriptions/s/resourceGroups/rg"
STORED = {
    POLLER_TOKEN: "t",
    POLLER_ID: "p",
    INPUTS: "i",
    LATEST_RECONCILED_GENERATION: "7",
}
OVER = (
    UpdateMemory(poll=PollState()),
    SetMetadata({POLLER_TOKEN: None, POLLER_ID: None, INPUTS: None}),
)
NOTHING, PUT, OPERATION = Follows.NOTHING, Follows.PUT, Follows.OPERATION


def read(follows=PUT, **given):
    facts = ReadFacts(
        arm_id=ID,
        follows=follows,
        is_there=True,
        before={},
        after={"id": ID},
        stored=STORED,
        accepted=None,
    )
    return after_read(attrs.evolve(facts, **given))


@pytest.mark.parametrize("follows", Follows)
def test_what_was_read_is_checked(follows):
    assert read(follows) == Decision((), PostCheck(follows))


@pytest.mark.parametrize(
    ("follows", "reason", "effects"),
    [
        (NOTHING, "AzureResourceNotFound", ()),
        (PUT, "Failed", ()),
        (OPERATION, "Failed", OVER),
    ],
)
def test_what_is_not_there_is_put_next_time(follows, reason, effects):
    decided = read(follows, is_there=False)
    assert decided.effects == (UpdateMemory(accepted=None), *effects)
    assert decided.then.error.reason == reason


OLD, NEW = {"resourceGuid": "a"}, {"resourceGuid": "b"}


@pytest.mark.parametrize(
    ("follows", "after", "accepted", "told"),
    [
        (PUT, NEW, None, ["AzureResourceRecreated"]),
        (OPERATION, NEW, PutRecord(b"", 7), ["AzureResourceRecreated"]),
        (PUT, NEW, PutRecord(b"", 7, recreated=True), []),  # said at the PUT
        (PUT, OLD, None, []),
        (NOTHING, NEW, None, []),
    ],
)
def test_another_resource_at_the_id_is_told_once(follows, after, accepted, told):
    decided = read(follows, before=OLD, after=after, accepted=accepted)
    assert [one.reason for one in decided.effects] == told


@pytest.mark.parametrize(
    ("result", "effects"),
    [
        (Ready(), ()),
        (Ready({}), ()),
        (Ready({"a": 1}), (PatchStatus({"a": 1}),)),
    ],
)
def test_what_is_in_use_is_exported(result, effects):
    decided = after_check(result, follows=OPERATION, stored=STORED)
    assert decided == Decision(effects, WriteExports(OPERATION))


def test_what_a_put_mended_is_remembered_only_of_what_is_in_use():
    learned = (UpdateMemory(precondition_failures=0),)
    given = {"follows": PUT, "stored": STORED, "learned": learned}
    assert after_check(Ready(), **given).effects == learned
    assert after_check(NotReady("Not yet."), **given).effects == ()


@pytest.mark.parametrize(("follows", "effects"), [(PUT, ()), (OPERATION, OVER)])
def test_what_is_not_usable_yet_has_ended_its_operation(follows, effects):
    decided = after_check(NotReady("Not yet."), follows=follows, stored=STORED)
    assert decided.effects == effects
    assert isinstance(decided.then, Fail)
    assert decided.then.error.reason == "PostReconciliationFailure"


@pytest.mark.parametrize(
    ("follows", "generation", "changed", "effects", "then"),
    [
        (PUT, 7, False, (), Succeeded()),
        (OPERATION, 7, False, OVER, Succeeded()),
        (OPERATION, 8, False, OVER, Requeue()),  # R1.13, D5: edited meanwhile
        (OPERATION, 7, True, OVER, Requeue()),  # a Secret was
        (PUT, 8, False, (), Requeue()),
        (NOTHING, 8, False, (), Succeeded()),  # policy skip puts nothing
    ],
)
def test_how_it_ends(follows, generation, changed, effects, then):
    facts = EndFacts(
        follows=follows, stored=STORED, generation=generation, inputs_changed=changed
    )
    assert after_export(facts) == Decision(effects, then)


def refusal(status):
    return ArmError(ErrorBody("Code", "No."), status=status)


@pytest.mark.parametrize(
    ("error", "is_over"),
    [
        (refusal(400), True),
        (refusal(403), True),
        (refusal(401), False),
        (refusal(429), False),
        (refusal(503), False),
        (ArmTransportError("cut", sent="maybe", method="GET", url=""), False),
        (CredentialError("none"), False),
        (ConditionError("bad", reason="Failed"), True),
        (SuboperationPending("sync", after_seconds=1.0), True),
        (RetryError("busy", after_seconds=1.0), False),
        (StoppedError("stopping"), False),
    ],
    ids=lambda one: getattr(one, "status", None) or type(one).__name__,
)
@pytest.mark.parametrize("action", [Read(OPERATION), PostCheck(OPERATION)])
def test_d3_only_what_speaks_of_the_resource_ends_its_operation(action, error, is_over):
    assert after_error(action, error, STORED) == (OVER if is_over else ())


@pytest.mark.parametrize("action", [Read(PUT), WriteExports(NOTHING), PreparePut()])
def test_an_error_elsewhere_ends_no_operation(action):
    assert after_error(action, refusal(400), STORED) == ()
