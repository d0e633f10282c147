"""What follows the answer to a PUT, as tables over facts."""

import attrs
import pytest

from asoreconcile.azure.arm.error_body import ErrorBody
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import (
    Failed,
    OperationDone,
    Pending,
    PollState,
    Progress,
)
from asoreconcile.azure.arm.tokens import RESOURCE, Token, TokenShape, dumps
from asoreconcile.azure.reconcile.model.annotations import (
    LAST_RECONCILED_VERSION,
    LATEST_RECONCILED_GENERATION,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
)
from asoreconcile.azure.reconcile.model.decisions import (
    Decision,
    EmitEvent,
    Log,
    PatchMetadata,
    Put,
    Read,
    ReadAfter,
    Refused,
    Requeue,
    SetDrifted,
    SetMetadata,
    UpdateMemory,
    WakeChildren,
)
from asoreconcile.azure.reconcile.model.drift_baseline import (
    OBSERVED,
    AcceptedPut,
    DriftBaseline,
)
from asoreconcile.azure.reconcile.writes.put_answers import (
    PutAnswer,
    after_accepted,
    after_put,
)

ID = "/subscriptions/s/resourceGroups/rg"
BASELINE = DriftBaseline("p", at="t")
PUT = Put(ID, {"location": "westeurope"}, BASELINE)
TOKEN = Token(TokenShape.BODY, RESOURCE, "https://arm.test/r", "Updating")
RUNNING = Pending(TOKEN, 10.0, Progress(client_request_id="one"))
RECORD = AcceptedPut(BASELINE, 7)
BUILD = {LAST_RECONCILED_VERSION: "v1"}
NO_NEWS = SetDrifted()
BEGUN = EmitEvent(
    "Normal",
    "BeginCreateOrUpdate",
    f'Successfully sent resource to Azure with ID "{ID}"',
)
RECORDED = PatchMetadata(
    {
        POLLER_TOKEN: dumps(TOKEN),
        POLLER_ID: PUT_POLLER,
        LATEST_RECONCILED_GENERATION: "7",
        OBSERVED: BASELINE.dumps(),
    },
    BUILD,
)
NOTED = SetMetadata(
    {LATEST_RECONCILED_GENERATION: "7", OBSERVED: BASELINE.dumps()}, BUILD
)


def refusal(status):
    return ArmError(ErrorBody("Code", "No."), status=status)


def after(answer, **given):
    facts = {
        "stored": {},
        "before": {},
        "rests_on": None,
        "was_absent": False,
        "precondition_failures": 0,
        **given,
    }
    return after_put(
        PutAnswer(
            put=PUT,
            answer=answer,
            generation=7,
            arm_type="Microsoft.Resources/resourceGroups",
            now=100.0,
            build="v1",
            **facts,
        )
    )


def test_d15_an_accepted_put_is_read_and_not_sent_again():
    decided = after_accepted((NO_NEWS,), RECORD, now=100.0, build="v1")
    assert decided == Decision((NO_NEWS, NOTED), Read(ReadAfter.PUT))


def test_a_put_that_is_answered_at_once_is_read():
    memory = UpdateMemory(precondition_failures=0, accepted=RECORD)
    expected = Decision((memory, BEGUN, NOTED), Read(ReadAfter.PUT))
    assert after(OperationDone({"id": ID})) == expected


def test_a_put_that_takes_its_time_is_recorded_before_anything_else():
    decided = after(RUNNING, precondition_failures=3)
    accepted = attrs.evolve(RECORD, running=RUNNING)
    assert decided == Decision(
        (
            UpdateMemory(poll=PollState(RUNNING.progress, 110.0)),
            UpdateMemory(precondition_failures=0, accepted=accepted),
            BEGUN,
            RECORDED,
        ),
        Requeue(10.0),
    )


@pytest.mark.parametrize(
    ("answer", "given"),
    [
        (OperationDone({}, created=True), {"before": {"id": ID}}),
        (OperationDone({}), {"before": {"id": ID}, "was_absent": True}),
    ],
    ids=["answered 201", "seen absent"],
)
def test_what_is_made_again_is_told(answer, given):
    memory, _, told, woken, _ = after(answer, **given).effects
    assert memory.accepted.recreated
    assert (told.type, told.reason) == ("Warning", "AzureResourceRecreated")
    assert woken == WakeChildren()


@pytest.mark.parametrize("wrapped", [False, True], ids=["refused", "failed at once"])
def test_a_refused_put_forgets_its_operation_and_keeps_its_generation(wrapped):
    error = refusal(400)
    stored = {POLLER_TOKEN: "{}", POLLER_ID: "x"}
    decided = after(Failed(error) if wrapped else error, stored=stored)
    assert decided == Decision(
        (
            UpdateMemory(poll=PollState()),
            SetMetadata({POLLER_TOKEN: None, POLLER_ID: None}),
            SetMetadata({LATEST_RECONCILED_GENERATION: "7"}),
        ),
        Refused(error, "CreateOrUpdate"),
    )


@pytest.mark.parametrize(
    ("status", "rests_on", "precondition_failures", "again"),
    [
        (412, '"1"', 0, True),
        (412, '"1"', 4, True),
        (412, '"1"', 5, False),  # only a busy neighbour: it backs off
        (412, None, 0, False),
        (412, "", 0, False),
        (409, '"1"', 0, False),
    ],
)
def test_who_is_refused_as_changed_puts_again_at_once(
    status, rests_on, precondition_failures, again
):
    decided = after(
        refusal(status), rests_on=rests_on, precondition_failures=precondition_failures
    )
    assert isinstance(decided.then, Requeue if again else Refused)
    counted = (
        UpdateMemory(precondition_failures=precondition_failures + 1) in decided.effects
    )
    assert counted == (status == 412 and bool(rests_on))
    assert any(isinstance(one, Log) for one in decided.effects) == again
