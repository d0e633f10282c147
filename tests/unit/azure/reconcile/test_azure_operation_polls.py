"""What the polls of an operation come to, as tables over facts."""

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
    ReadResource,
    Restart,
)
from asoreconcile.azure.arm.tokens import DELETE, RESOURCE, Token, TokenShape, dumps
from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
    LATEST_RECONCILED_GENERATION,
    POLLER_ID,
    POLLER_MARK,
    POLLER_TOKEN,
    PUT_POLLER,
)
from asoreconcile.azure.reconcile.model.decisions import (
    Decision,
    EmitEvent,
    Fail,
    Log,
    OperationLost,
    PatchMetadata,
    Read,
    ReadAfter,
    Refused,
    RemoveFinalizer,
    Requeue,
    SetMetadata,
    SetObservedGeneration,
    UpdateMemory,
)
from asoreconcile.azure.reconcile.model.drift_baseline import (
    AcceptedPut,
    DriftBaseline,
)
from asoreconcile.azure.reconcile.writes.operation_polls import (
    PolledOperation,
    after_judging,
    after_poll,
    before_poll,
)

ID = "/subscriptions/s/resourceGroups/rg"
URL = f"https://arm.test{ID}?api-version=2024-01-01"
BODY = Token(TokenShape.BODY, RESOURCE, URL, "Updating")
LOCATION = Token(TokenShape.LOCATION, RESOURCE, "https://arm.test/op/1", "InProgress")
GOING = Token(TokenShape.LOCATION, DELETE, "https://arm.test/op/2", "InProgress")
ERROR = ArmError(ErrorBody("Conflict", "No."), status=409)
NOT_IN = ArmError(ErrorBody("Unauthorized", "No."), status=401)
TROUBLE = ArmError(ErrorBody("Busy", "Later."), status=503)
CLEARED = (
    UpdateMemory(poll=PollState()),
    SetMetadata({POLLER_TOKEN: None, POLLER_ID: None}),
)
POLLED = PollState(Progress(polls=1), 90.0)


def watched(token=BODY, **given):
    deleting = token.type == DELETE
    stored = {
        POLLER_TOKEN: dumps(token),
        POLLER_ID: DELETE_POLLER if deleting else PUT_POLLER,
    }
    facts = {
        "arm_id": ID,
        "api_version": "2024-01-01",
        "stored": stored,
        "is_marked": True,
        "deleting": deleting,
        "generation": 7,
        "poll": POLLED,
        "accepted": None,
        "now": 100.0,
    }
    return PolledOperation(**{**facts, **given})


def undecided(error=None, *, deleting=False):
    return ReadResource("monitor gone", deleting=deleting, error=error)


def test_d4_nothing_is_asked_before_its_time():
    poll = PollState(due=103.5)
    assert before_poll(watched(poll=poll)) == Decision((), Requeue(3.5))
    assert before_poll(watched()) == watched().token()


@pytest.mark.parametrize("text", ["", "no token", dumps(GOING)])
def test_r1_14_an_unreadable_token_is_dropped_and_told(text):
    stored = {POLLER_TOKEN: text, POLLER_ID: PUT_POLLER}
    decided = before_poll(watched(stored=stored))
    assert decided.effects[0] == UpdateMemory(accepted=None)
    assert UpdateMemory(poll=PollState()) in decided.effects
    assert isinstance(decided.then, Fail)
    assert text not in str(decided.then.error) or not text


def test_an_unreadable_token_of_a_delete_begins_it_again():
    stored = {POLLER_TOKEN: "no token", POLLER_ID: DELETE_POLLER}
    decided = before_poll(watched(GOING, stored=stored))
    assert isinstance(decided.effects[0], Log)
    assert decided.effects[1:] == CLEARED
    assert decided.then == Requeue()


RUNNING = Pending(LOCATION, 10.0, Progress(polls=2))
KEPT = UpdateMemory(poll=PollState(RUNNING.progress, 110.0))


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (
            RUNNING,
            Decision(
                (
                    KEPT,
                    PatchMetadata(
                        {POLLER_TOKEN: dumps(LOCATION), POLLER_ID: PUT_POLLER}
                    ),
                ),
                Requeue(10.0),
            ),
        ),
        (
            OperationDone({"id": ID}),
            Decision((), Read(ReadAfter.OPERATION, {"id": ID})),
        ),
        (OperationDone(None), Decision((), Read(ReadAfter.OPERATION))),
        (
            Failed(ERROR),
            Decision(
                (
                    *CLEARED,
                    UpdateMemory(accepted=None),
                    UpdateMemory(failed_operation_generation=7),
                    SetObservedGeneration(7),
                ),
                Refused(ERROR, "CreateOrUpdate"),
            ),
        ),
        (
            Restart("gone"),
            Decision(
                (
                    *CLEARED,
                    UpdateMemory(accepted=None),
                    UpdateMemory(failed_operation_generation=7),
                    SetObservedGeneration(7),
                ),
                OperationLost(Restart("gone")),
            ),
        ),
        (undecided(ERROR), Decision((), undecided(ERROR))),
    ],
    ids=["runs", "body", "no body", "failed", "lost", "undecided"],
)
def test_a_poll_of_a_put(outcome, expected):
    assert after_poll(watched(), outcome) == expected


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (
            attrs.evolve(RUNNING, token=GOING),
            Decision((KEPT,), Requeue(10.0)),
        ),
        (OperationDone(None), Decision((), RemoveFinalizer())),
        (
            Failed(ERROR),
            Decision(
                (*CLEARED, UpdateMemory(failed_operation_generation=7)),
                Refused(ERROR, "Delete"),
            ),
        ),
        (
            Restart("there"),
            Decision(
                (*CLEARED, UpdateMemory(failed_operation_generation=7)),
                OperationLost(Restart("there")),
            ),
        ),
    ],
    ids=["runs", "gone", "failed", "still there"],
)
def test_a_poll_of_a_delete(outcome, expected):
    assert after_poll(watched(GOING), outcome) == expected


HOST = "https://arm.test"
ASOS = Token(
    TokenShape.LOCATION, RESOURCE, f"{HOST}/subscriptions/s/op/1", "InProgress"
)


def without_mark(token, **given):
    return watched(token, is_marked=False, **given)


@pytest.mark.parametrize(
    "path",
    [
        "/subscriptions/t/op/1",
        "/subscriptions/s/providers/Microsoft.KeyVault/vaults/v",
        "/subscriptions/s/op/../../t",
        "/subscriptions/s/%2E%2e/t",
        "/subscriptions/s/..\\t",
        "/providers/Microsoft.Management/managementGroups/g",
        "/",
    ],
)
def test_a_token_without_the_mark_aims_no_read_elsewhere(path):
    elsewhere = attrs.evolve(ASOS, url=HOST + path)
    assert isinstance(before_poll(without_mark(elsewhere)).then, Fail)
    assert before_poll(watched(elsewhere)) == elsewhere
    by_result = attrs.evolve(
        ASOS, shape=TokenShape.ASYNC, location=HOST + path, original_url=URL
    )
    assert isinstance(before_poll(without_mark(by_result)).then, Fail)


@pytest.mark.parametrize("outcome", [Failed(ERROR), Restart("gone"), undecided(ERROR)])
def test_the_answer_to_a_token_without_the_mark_is_not_shown(outcome):
    """The resource itself is read instead, as when ASO began the operation."""
    facts = without_mark(ASOS)
    assert before_poll(facts) == ASOS
    then = after_poll(facts, outcome).then
    assert isinstance(then, ReadResource)
    assert then.error is None
    # The resource's own answer is about the object.
    assert after_poll(without_mark(BODY), outcome) == after_poll(watched(BODY), outcome)


def test_a_monitor_that_a_forged_token_names_gets_no_mark():
    moved = attrs.evolve(ASOS, url=f"{HOST}/subscriptions/s/op/2")
    effects = after_poll(without_mark(ASOS), attrs.evolve(RUNNING, token=moved)).effects
    (written,) = (one for one in effects if isinstance(one, PatchMetadata))
    assert written.annotations[POLLER_MARK] is None


ASYNC = Token(TokenShape.ASYNC, RESOURCE, "https://arm.test/op/3", "InProgress")
UNSEEN = attrs.evolve(BODY, state="InProgress")


@pytest.mark.parametrize(
    ("stored", "polled", "is_written"),
    [
        (ASYNC, ASYNC, False),
        (ASYNC, attrs.evolve(ASYNC, state="Running"), False),
        (ASYNC, attrs.evolve(ASYNC, url="https://arm.test/op/4"), True),
        (ASYNC, attrs.evolve(ASYNC, location="https://arm.test/l"), True),
        (LOCATION, attrs.evolve(LOCATION, state="Running"), False),
        (UNSEEN, BODY, True),  # L7: it has been seen
        (BODY, attrs.evolve(BODY, state="Scaling"), False),
        (UNSEEN, UNSEEN, False),
    ],
)
def test_a_poll_writes_only_what_another_process_would_poll_by(
    stored, polled, is_written
):
    decided = after_poll(watched(stored), attrs.evolve(RUNNING, token=polled))
    assert any(isinstance(one, PatchMetadata) for one in decided.effects) == is_written


SIGNED, RENEWED, MOVED, OTHER_VERSION = (
    attrs.evolve(GOING, url=f"https://arm.test/op/{rest}")
    for rest in (
        "2?api-version=1&t=638&c=MII&s=a&h=b",
        "2?api-version=1&t=639&c=MIJ&s=c&h=d",
        "3?api-version=1&t=639&c=MIJ&s=c&h=d",
        "2?api-version=2&t=638&c=MII&s=a&h=b",
    )
)


def signed(**changes):
    return watched(SIGNED, **changes)


def polled(facts, token):
    """The tokens that a poll writes and remembers."""
    effects = after_poll(facts, Pending(token, 5.0, Progress(polls=2))).effects
    (memory,) = (one for one in effects if isinstance(one, UpdateMemory))
    written = [one for one in effects if isinstance(one, PatchMetadata)]
    return [one.annotations[POLLER_TOKEN] for one in written], memory.poll.newest


def test_l19_a_monitor_that_is_signed_anew_is_remembered_and_not_written():
    assert polled(signed(), RENEWED) == ([], RENEWED)
    assert polled(signed(), SIGNED) == ([], None)
    facts = signed(poll=attrs.evolve(POLLED, newest=RENEWED))
    assert facts.token() == RENEWED
    assert facts.recorded() == SIGNED
    assert polled(facts, RENEWED) == ([], RENEWED)  # still not what is recorded


@pytest.mark.parametrize("token", [MOVED, OTHER_VERSION], ids=["moved", "version"])
def test_l19_another_monitor_is_written(token):
    assert polled(signed(), token) == ([dumps(token)], None)
    facts = signed(poll=attrs.evolve(POLLED, newest=RENEWED))
    assert polled(facts, token) == ([dumps(token)], None)


@pytest.mark.parametrize("newest", [MOVED, OTHER_VERSION, None])
def test_what_is_recorded_decides_which_operation_is_polled(newest):
    """Another process may have begun another one since."""
    assert signed(poll=attrs.evolve(POLLED, newest=newest)).token() == SIGNED


def test_l19_a_location_beside_a_status_monitor_is_renewed_with_it():
    both = Token(
        TokenShape.ASYNC,
        RESOURCE,
        "https://arm.test/status/1?t=1&s=a",
        "InProgress",
        location="https://arm.test/op/1?t=1&s=a",
        original_url=URL,
        method="PUT",
    )
    newer = attrs.evolve(both, location="https://arm.test/op/1?t=2&s=b", state="Going")
    facts = watched(both)
    assert polled(facts, newer) == ([], newer)
    facts = watched(both, poll=PollState(newest=newer))
    assert facts.token() == attrs.evolve(both, location=newer.location)
    elsewhere = attrs.evolve(newer, location="https://arm.test/op/2?t=2&s=b")
    assert polled(facts, elsewhere) == ([dumps(elsewhere)], None)


def test_only_the_first_poll_of_a_delete_is_told():
    first = after_poll(watched(GOING, poll=PollState()), OperationDone(None))
    assert [one.reason for one in first.effects] == ["MonitorDelete"]
    assert isinstance(first.effects[0], EmitEvent)
    assert after_poll(watched(GOING), OperationDone(None)).effects == ()
    assert after_poll(watched(poll=PollState()), OperationDone(None)).effects == ()


def test_d3_trouble_while_asking_keeps_the_operation_and_is_logged():
    decided = after_poll(watched(), attrs.evolve(RUNNING, read_error=TROUBLE))
    assert isinstance(decided.effects[0], Log)
    assert decided.then == Requeue(10.0)


def test_d5_an_operation_that_failed_speaks_of_the_spec_it_was_begun_with():
    stored = {**watched().stored, LATEST_RECONCILED_GENERATION: "5"}
    effects = after_poll(watched(stored=stored), Failed(ERROR)).effects
    assert effects[-3:] == (
        UpdateMemory(accepted=None),
        UpdateMemory(failed_operation_generation=5),
        SetObservedGeneration(5),
    )


def test_an_accepted_put_is_followed_to_its_end():
    accepted = AcceptedPut(DriftBaseline("p"), 7, running=RUNNING)
    further = attrs.evolve(RUNNING, delay_seconds=20.0)
    runs = after_poll(watched(accepted=accepted), further)
    assert runs.effects[0] == UpdateMemory(
        accepted=attrs.evolve(accepted, running=further)
    )
    ended = after_poll(watched(accepted=accepted), OperationDone(None))
    assert ended.effects == (
        UpdateMemory(accepted=attrs.evolve(accepted, running=None)),
    )


@pytest.mark.parametrize(
    ("token", "api_version", "is_used"),
    [
        (BODY, "2024-01-01", True),
        (BODY, "2020-01-01", False),
        (LOCATION, "2024-01-01", False),
    ],
)
def test_what_was_polled_is_not_read_again_if_it_was_the_resource(
    token, api_version, is_used
):
    facts = watched(token, api_version=api_version)
    read = after_poll(facts, OperationDone({"id": ID})).then
    assert (read.body is not None) == is_used


@pytest.mark.parametrize(
    ("refusal", "outcome", "told", "then"),
    [
        (None, OperationDone(None), (), Read(ReadAfter.OPERATION)),
        (ERROR, OperationDone(None), (), Read(ReadAfter.OPERATION)),
        (ERROR, Restart("gone"), None, OperationLost(Restart("gone", error=ERROR))),
        # Who is not let in cannot say that nothing is there.
        (NOT_IN, Restart("gone"), (), Refused(NOT_IN, "Monitor")),
        (NOT_IN, OperationDone(None), (), Read(ReadAfter.OPERATION)),
    ],
    ids=["no word", "it is there", "it is not", "who knows", "it is there to see"],
)
def test_l16_the_resource_judges_in_place_of_its_monitor(refusal, outcome, told, then):
    decided = after_judging(watched(), undecided(refusal), outcome)
    assert decided.then == then
    if told is not None:
        assert decided.effects == told


def test_a_resource_that_is_still_going_is_asked_to_go_again():
    going = ReadResource("no monitor", deleting=True, delay_seconds=4.0)
    decided = after_judging(watched(GOING), undecided(deleting=True), going)
    assert decided == Decision(CLEARED, Requeue(4.0))
