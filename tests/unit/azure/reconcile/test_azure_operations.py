"""The reaction to each answer to a poll of an operation, as tables."""

from types import SimpleNamespace

import attrs
import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
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
from asoreconcile.azure.arm.tokens import (
    DELETE,
    RESOURCE,
    Token,
    TokenError,
    TokenShape,
    dumps,
)
from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
    LATEST_RECONCILED_GENERATION,
    POLLER_ANNOTATIONS,
    POLLER_ID,
    POLLER_MARK,
    POLLER_TOKEN,
    PUT_POLLER,
)
from asoreconcile.azure.reconcile.model.decisions import ReadAfter, Requeue
from asoreconcile.azure.reconcile.model.drift_baseline import (
    OBSERVED,
    AcceptedPut,
    DriftBaseline,
)
from asoreconcile.azure.reconcile.scope.recorded_operation import (
    is_news,
    newest_token,
    recorded_token,
    withheld,
)
from asoreconcile.azure.reconcile.state.memory import ObjectMemory
from asoreconcile.azure.reconcile.writes import operations

ID = "/subscriptions/s/resourceGroups/rg"
URL = f"https://arm.test{ID}?api-version=2024-01-01"
BODY = Token(TokenShape.BODY, RESOURCE, URL, "Updating")
LOCATION = Token(TokenShape.LOCATION, RESOURCE, "https://arm.test/op/1", "InProgress")
GOING = Token(TokenShape.LOCATION, DELETE, "https://arm.test/op/2", "InProgress")
ERROR = ArmError(ErrorBody("Conflict", "No."), status=409)
NOT_IN = ArmError(ErrorBody("Unauthorized", "No."), status=401)
TROUBLE = ArmError(ErrorBody("Busy", "Later."), status=503)
RUNNING = Pending(LOCATION, 10.0, Progress(polls=2))
ACCEPTED = AcceptedPut(DriftBaseline("p"), 7, running=RUNNING)
CLEARED = dict.fromkeys(POLLER_ANNOTATIONS)


def failing(name):
    return lambda _refusal, _unread=None: ConditionError("no", reason=name)


FAILING = SimpleNamespace(
    **{
        name: failing(name)
        for name in ("put_failed", "delete_failed", "operation_lost", "monitor_refused")
    }
)


class Trial:
    """One poll of an object, and everything that it does."""

    def __init__(self, token, *, marked=True, judged=None, **given):
        self.deleting = token.type == DELETE
        stored = {
            POLLER_TOKEN: dumps(token),
            POLLER_ID: DELETE_POLLER if self.deleting else PUT_POLLER,
            **given.pop("stored", {}),
        }
        self.written, self.noted, self.events, self.logged = [], [], [], []
        self.marked, self.judged, self.polled = marked, judged, []
        self.memory = ObjectMemory("u", poll=PollState(Progress(polls=1), 90.0))
        for name, value in given.items():
            setattr(self.memory, name, value)
        meta = {"deletionTimestamp": "2026"} if self.deleting else {}
        self.patcher = SimpleNamespace(
            obj={"metadata": meta},
            annotations=stored,
            arm_id=ID,
            generation=7,
            version=SimpleNamespace(api_version="2024-01-01"),
            annotate=self.noted.append,
        )

    def record(self, token, poller, notes):
        stored = {POLLER_TOKEN: dumps(token), POLLER_ID: poller, **notes}
        self.written.append(stored)

    def run(self, outcome=None):
        def told(*event):
            self.events.append(event)

        def asked(token, _progress):
            self.polled.append(token)
            return outcome

        scope = SimpleNamespace(
            patcher=self.patcher,
            memory=self.memory,
            errors=FAILING,
            context=SimpleNamespace(get=None),
            event=told,
            log=SimpleNamespace(
                warning=lambda text, **_: self.logged.append(text),
                info=lambda *_, **__: None,
            ),
            operations=SimpleNamespace(
                has_mark=lambda _: self.marked, record=self.record
            ),
            connection=SimpleNamespace(
                client=SimpleNamespace(
                    poll=asked, judge=lambda *_, **__: self.judged or outcome
                )
            ),
            operator=SimpleNamespace(
                clock=SimpleNamespace(monotonic=lambda: 100.0),
                note_write=lambda _: None,
            ),
        )
        try:
            return operations.poll(scope)
        except ConditionError as error:
            return error.reason

    def forgotten(self):
        return {name for notes in self.noted for name, v in notes.items() if v is None}


@pytest.fixture(autouse=True)
def endings(monkeypatch):
    """Replace the functions that follow a poll by their names."""

    monkeypatch.setattr(operations, "release", lambda _: "released")
    monkeypatch.setattr(operations, "rendered_again", lambda _: None)
    monkeypatch.setattr(
        operations, "settle", lambda _, after, body: ("settled", after, body)
    )


def settled(body=None):
    return "settled", ReadAfter.OPERATION, body


def undecided(error=None, *, deleting=False):
    return ReadResource("monitor gone", deleting=deleting, error=error)


def test_d4_nothing_is_asked_before_its_time():
    early = Trial(BODY, poll=PollState(due=103.5))
    assert early.run() == Requeue(3.5)
    assert early.polled == []


@pytest.mark.parametrize("text", ["", "no token", dumps(GOING)])
def test_r1_14_an_unreadable_token_is_dropped_and_told(text):
    trial = Trial(BODY, stored={POLLER_TOKEN: text}, accepted=ACCEPTED)
    assert trial.run() == "Failed"
    assert trial.memory.accepted is None
    assert trial.memory.poll == PollState()
    assert POLLER_ID in trial.forgotten()


def test_an_unreadable_token_of_a_delete_begins_it_again():
    trial = Trial(GOING, stored={POLLER_TOKEN: "no token"})
    assert trial.run() == Requeue()
    assert trial.logged == ["Dropping unreadable operation token"]
    assert trial.noted == [CLEARED]


@pytest.mark.parametrize(
    ("outcome", "ending"),
    [
        (OperationDone({"id": ID}), settled({"id": ID})),
        (OperationDone(None), settled()),
        (Failed(ERROR), "put_failed"),
        (Restart("gone"), "operation_lost"),
    ],
    ids=["body", "no body", "failed", "lost"],
)
def test_a_poll_of_a_put(outcome, ending):
    trial = Trial(BODY, accepted=ACCEPTED)
    assert trial.run(outcome) == ending
    is_over = isinstance(ending, str)
    assert trial.noted == ([CLEARED] if is_over else [])
    assert trial.memory.failed_operations == is_over
    left = None if is_over else attrs.evolve(ACCEPTED, running=None)
    assert trial.memory.accepted == left


@pytest.mark.parametrize(
    ("outcome", "ending", "is_over"),
    [
        (OperationDone(None), "released", False),
        (Failed(ERROR), "delete_failed", True),
        (Restart("there"), "operation_lost", True),
    ],
    ids=["gone", "failed", "still there"],
)
def test_a_poll_of_a_delete(outcome, ending, is_over):
    trial = Trial(GOING)
    assert trial.run(outcome) == ending
    assert trial.noted == ([CLEARED] if is_over else [])
    assert trial.memory.failed_operations == is_over


def test_a_running_operation_is_followed():
    trial = Trial(BODY, accepted=attrs.evolve(ACCEPTED, running=None))
    assert trial.run(RUNNING) == Requeue(10.0)
    assert trial.memory.accepted == ACCEPTED
    assert trial.memory.poll == PollState(RUNNING.progress, 110.0)
    assert trial.written == [{POLLER_TOKEN: dumps(LOCATION), POLLER_ID: PUT_POLLER}]


HOST = "https://arm.test"
ASOS = Token(
    TokenShape.LOCATION, RESOURCE, f"{HOST}/subscriptions/s/op/1", "InProgress"
)


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
    by_result = attrs.evolve(
        ASOS, shape=TokenShape.ASYNC, location=HOST + path, original_url=URL
    )

    def read(token, *, is_marked):
        stored = {POLLER_TOKEN: dumps(token)}
        return recorded_token(stored, arm_id=ID, deleting=False, is_marked=is_marked)

    assert read(elsewhere, is_marked=True) == elsewhere
    for token in (elsewhere, by_result):
        with pytest.raises(TokenError):
            read(token, is_marked=False)


@pytest.mark.parametrize("outcome", [Failed(ERROR), Restart("gone"), undecided(ERROR)])
def test_the_answer_to_a_token_without_the_mark_is_not_shown(outcome):
    """The resource itself is read instead, as when ASO began the operation."""
    shown = withheld(outcome, deleting=False)
    assert isinstance(shown, ReadResource)
    assert shown.error is None
    trial = Trial(ASOS, marked=False, judged=OperationDone(None))
    assert trial.run(outcome) == settled()
    assert trial.events == []
    # The resource's own answer is about the object.
    if isinstance(outcome, Failed):
        assert Trial(BODY, marked=False).run(outcome) == "put_failed"


def test_a_monitor_that_a_forged_token_names_gets_no_mark():
    trial = Trial(ASOS, marked=False)
    moved = attrs.evolve(ASOS, url=f"{HOST}/subscriptions/s/op/2")
    trial.run(attrs.evolve(RUNNING, token=moved))
    assert trial.written[0][POLLER_MARK] is None


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
    assert is_news(stored, polled) == is_written


SIGNED, RENEWED, MOVED, OTHER_VERSION = (
    attrs.evolve(GOING, url=f"https://arm.test/op/{rest}")
    for rest in (
        "2?api-version=1&t=638&c=MII&s=a&h=b",
        "2?api-version=1&t=639&c=MIJ&s=c&h=d",
        "3?api-version=1&t=639&c=MIJ&s=c&h=d",
        "2?api-version=2&t=638&c=MII&s=a&h=b",
    )
)


def polled(recorded, token, newest=None):
    """The tokens that a poll writes and remembers."""
    poll = PollState(Progress(polls=1), 90.0, newest)
    trial = Trial(recorded, poll=poll)
    trial.run(Pending(token, 5.0, Progress(polls=2)))
    return [one[POLLER_TOKEN] for one in trial.written], trial.memory.poll.newest


@pytest.mark.parametrize("newest", [None, RENEWED])
def test_l19_a_monitor_that_is_signed_anew_is_remembered_and_not_written(newest):
    assert polled(SIGNED, RENEWED, newest) == ([], RENEWED)
    assert polled(SIGNED, SIGNED) == ([], None)
    assert newest_token(SIGNED, RENEWED) == RENEWED


@pytest.mark.parametrize("token", [MOVED, OTHER_VERSION], ids=["moved", "version"])
@pytest.mark.parametrize("newest", [None, RENEWED])
def test_l19_another_monitor_is_written(token, newest):
    assert polled(SIGNED, token, newest) == ([dumps(token)], None)


@pytest.mark.parametrize("newest", [MOVED, OTHER_VERSION, None])
def test_what_is_recorded_decides_which_operation_is_polled(newest):
    """Another process may have begun another one since."""
    assert newest_token(SIGNED, newest) == SIGNED


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
    assert polled(both, newer) == ([], newer)
    assert newest_token(both, newer) == attrs.evolve(both, location=newer.location)
    elsewhere = attrs.evolve(newer, location="https://arm.test/op/2?t=2&s=b")
    assert polled(both, elsewhere) == ([dumps(elsewhere)], None)


@pytest.mark.parametrize(
    ("token", "polls", "told"),
    [(GOING, 0, ["MonitorDelete"]), (GOING, 1, []), (BODY, 0, [])],
)
def test_only_the_first_poll_of_a_delete_is_told(token, polls, told):
    trial = Trial(token, poll=PollState(Progress(polls=polls)))
    trial.run(OperationDone(None))
    assert [reason for _, reason, _ in trial.events] == told


def test_d3_trouble_while_asking_keeps_the_operation_and_is_logged():
    trial = Trial(BODY)
    assert trial.run(attrs.evolve(RUNNING, read_error=TROUBLE)) == Requeue(10.0)
    assert trial.logged == ["Cannot read the operation"]


def test_d5_an_operation_that_failed_speaks_of_the_spec_it_was_begun_with():
    record = {OBSERVED: DriftBaseline("p").dumps()}
    trial = Trial(BODY, stored={LATEST_RECONCILED_GENERATION: "5", **record})
    trial.run(Failed(ERROR))
    assert trial.patcher.generation == 5
    assert trial.noted[1] == {OBSERVED: DriftBaseline("").dumps()}


@pytest.mark.parametrize(
    ("token", "is_used"),
    [
        (BODY, True),
        (attrs.evolve(BODY, url=URL.replace("2024", "2020")), False),
        (LOCATION, False),
    ],
)
def test_what_was_polled_is_not_read_again_if_it_was_the_resource(token, is_used):
    ending = Trial(token).run(OperationDone({"id": ID}))
    assert ending == settled({"id": ID} if is_used else None)


@pytest.mark.parametrize(
    ("refusal", "outcome", "told", "ending"),
    [
        (None, OperationDone(None), [], settled()),
        (ERROR, OperationDone(None), ["OperationUnreadable"], settled()),
        (ERROR, Restart("gone"), [], "operation_lost"),
        # Who is not let in cannot say that nothing is there.
        (NOT_IN, Restart("gone"), [], "monitor_refused"),
        (NOT_IN, OperationDone(None), ["OperationUnreadable"], settled()),
    ],
    ids=["no word", "it is there", "it is not", "who knows", "it is there to see"],
)
def test_l16_the_resource_judges_in_place_of_its_monitor(
    refusal, outcome, told, ending
):
    trial = Trial(BODY, judged=outcome)
    assert trial.run(undecided(refusal)) == ending
    assert [reason for _, reason, _ in trial.events] == told
    assert (trial.noted != []) == (ending == "operation_lost")


def test_a_resource_that_is_still_going_is_asked_to_go_again():
    going = ReadResource("no monitor", deleting=True, delay_seconds=4.0)
    trial = Trial(GOING, judged=going)
    assert trial.run(undecided(deleting=True)) == Requeue(4.0)
    assert trial.noted == [CLEARED]
