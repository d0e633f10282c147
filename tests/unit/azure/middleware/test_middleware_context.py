"""The context of a pass: one read, resumable sub-operations, cancellation."""

import attrs
import pytest

from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm.outcomes import (
    Failed,
    OperationDone,
    Progress,
    ReadResource,
    Restart,
)
from asoreconcile.azure.arm.outcomes import Pending as Running
from asoreconcile.azure.arm.tokens import (
    RESOURCE,
    Token,
    TokenError,
    TokenShape,
    dumps,
    loads,
)
from asoreconcile.azure.middleware.context import (
    KeptAs,
    MemoryOperations,
    SuboperationPending,
)
from asoreconcile.azure.testing.extensions import ARM_ID, FakeArm, arm_fault, fake_ctx
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.reconcile_context import Context, DeadlineError, running
from asoreconcile.base.stop_signal import StopSignal
from asoreconcile.testing.clock import FakeClock

VERSION = "2024-01-01"
TOKEN = Token(
    TokenShape.LOCATION, RESOURCE, "https://arm.test/operations/1", "InProgress"
)
LATER = Token(
    TokenShape.LOCATION, RESOURCE, "https://arm.test/operations/2", "InProgress"
)


def never():
    raise AssertionError("the operation must not begin again")


def test_raw_get_reads_once_a_pass():
    arm = FakeArm().on("GET", ARM_ID, VERSION, {"name": "thing"})
    ctx = fake_ctx(arm=arm)
    assert ctx.raw_get() == ctx.raw_get() == {"name": "thing"}
    assert arm.sent == [("GET", ARM_ID, VERSION)]


def test_raw_get_of_a_resource_that_is_not_there_is_none_and_is_remembered():
    arm = FakeArm().on("GET", ARM_ID, VERSION, arm_fault(404, "ResourceNotFound"))
    ctx = fake_ctx(arm=arm)
    assert ctx.raw_get() is None
    assert ctx.raw_get() is None
    assert len(arm.sent) == 1


def test_raw_get_passes_other_errors_on_and_asks_again():
    arm = FakeArm().on("GET", ARM_ID, VERSION, arm_fault(500, "InternalServerError"))
    arm.on("GET", ARM_ID, VERSION, {"name": "thing"})
    ctx = fake_ctx(arm=arm)
    with pytest.raises(ArmError):
        ctx.raw_get()
    assert ctx.raw_get() == {"name": "thing"}


def test_raw_get_without_an_arm_id_makes_no_request():
    assert fake_ctx(arm_id="").raw_get() is None


@pytest.mark.parametrize("body", [{"name": "newer"}, None], ids=["body", "gone"])
def test_what_was_observed_replaces_the_read(body):
    ctx = fake_ctx()
    ctx.observed(body)
    assert ctx.raw_get() == body


def test_lro_that_ends_at_once_leaves_no_token():
    operations = MemoryOperations()
    ctx = fake_ctx(operations=operations)
    assert ctx.lro("purge", lambda: OperationDone({"key": "value"})) == {"key": "value"}
    assert operations.tokens == {}


def test_lro_stores_its_token_and_comes_back_over_passes_with_one_request_each():
    operations = MemoryOperations()
    arm = FakeArm().on("POST", "/purge", VERSION, Running(TOKEN, 7.0))
    with pytest.raises(SuboperationPending) as raised:
        fake_ctx(arm=arm, operations=operations).lro(
            "purge", lambda: arm.post(f"{ARM_ID}/purge", VERSION)
        )
    assert raised.value.after_seconds == 7.0
    assert operations.tokens == {"purge": dumps(TOKEN)}

    arm = FakeArm().on("POLL", "/operations/1", "", Running(LATER, 3.0))
    with pytest.raises(SuboperationPending):
        fake_ctx(arm=arm, operations=operations).lro("purge", never)
    assert operations.tokens == {"purge": dumps(LATER)}

    arm = FakeArm().on("POLL", "/operations/2", "", OperationDone({"done": True}))
    ctx = fake_ctx(arm=arm, operations=operations)
    assert ctx.lro("purge", never) == {"done": True}
    assert operations.tokens == {}
    assert len(arm.sent) == 1


def test_lro_that_fails_raises_its_error_and_begins_anew_next_time():
    operations = MemoryOperations()
    operations.save("purge", dumps(TOKEN))
    failed = Failed(arm_fault(409, "Conflict"))
    arm = FakeArm().on("POLL", "/operations/1", "", failed)
    ctx = fake_ctx(arm=arm, operations=operations)
    with pytest.raises(ArmError, match="Conflict"):
        ctx.lro("purge", never)
    assert operations.tokens == {}


def test_d3_lro_that_cannot_be_read_just_now_keeps_its_token():
    operations = MemoryOperations()
    operations.save("purge", dumps(TOKEN))
    read_error = ArmTransportError("reset", sent="maybe", method="GET", url="https://a")
    arm = FakeArm().on("POLL", "/1", "", Running(TOKEN, 2.0, read_error=read_error))
    with pytest.raises(SuboperationPending):
        fake_ctx(arm=arm, operations=operations).lro("purge", never)
    assert operations.tokens == {"purge": dumps(TOKEN)}


@pytest.mark.parametrize(
    "forgotten",
    [ReadResource("monitor gone", deleting=False), Restart("gone")],
    ids=["monitor gone", "restart"],
)
def test_l16_lro_that_azure_forgot_begins_anew(forgotten):
    operations = MemoryOperations()
    operations.save("purge", dumps(TOKEN))
    arm = FakeArm().on("POLL", "/operations/1", "", forgotten)
    ctx = fake_ctx(arm=arm, operations=operations)
    assert ctx.lro("purge", lambda: OperationDone({"begun": "anew"})) == {
        "begun": "anew"
    }
    assert operations.tokens == {}


def test_r1_14_unreadable_token_is_dropped_and_the_operation_begins_anew():
    operations = MemoryOperations()
    operations.save("purge", "{broken")
    ctx = fake_ctx(operations=operations)
    assert ctx.lro("purge", OperationDone) is None
    assert operations.tokens == {}


def test_h1_lro_counts_its_polls_and_keeps_its_id_from_pass_to_pass():
    operations, polls, clock = MemoryOperations(), {}, FakeClock()
    progress = [Progress(polls=n, client_request_id="first") for n in range(3)]
    arm = FakeArm().on("POST", "/purge", VERSION, Running(TOKEN, 7.0, progress[0]))
    for after in progress[1:]:
        arm.on("POLL", "/operations/1", "", Running(TOKEN, 7.0, after))

    def asked():
        ctx = fake_ctx(arm=arm, operations=operations, polls=polls, clock=clock)
        with pytest.raises(SuboperationPending):
            ctx.lro("purge", lambda: arm.post(f"{ARM_ID}/purge", VERSION))

    for _ in range(3):
        asked()
        clock.advance(7.0)
    assert arm.progress == progress[:2]
    arm = FakeArm().on("POLL", "/operations/1", "", OperationDone())
    ctx = fake_ctx(arm=arm, operations=operations, polls=polls, clock=clock)
    assert ctx.lro("purge", never) is None
    assert arm.progress == [progress[2]]
    assert polls == {}


def test_d4_lro_is_not_polled_before_its_time():
    """Whatever event brings the pass forward."""
    operations, polls, clock = MemoryOperations(), {}, FakeClock()

    def ctx():
        return fake_ctx(operations=operations, polls=polls, clock=clock)

    with pytest.raises(SuboperationPending):
        ctx().lro("purge", lambda: Running(TOKEN, 60.0))
    clock.advance(20.0)
    with pytest.raises(SuboperationPending) as raised:
        ctx().lro("purge", never)
    assert raised.value.after_seconds == 40.0


def test_l16_lro_whose_monitor_azure_refuses_fails_with_its_words():
    """Begun anew in silence it would be begun for ever."""
    operations = MemoryOperations()
    operations.save("purge", dumps(TOKEN))
    refused = ReadResource(
        "monitor refused", deleting=False, error=arm_fault(400, "ExpiredToken")
    )
    arm = FakeArm().on("POLL", "/operations/1", "", refused)
    with pytest.raises(ArmError, match="ExpiredToken"):
        fake_ctx(arm=arm, operations=operations).lro("purge", never)
    assert operations.tokens == {}


def test_lro_that_another_operator_knows_is_kept_as_it_keeps_it():
    operations = MemoryOperations()
    kept_as = KeptAs("other.example/token", "PurgeResponse")
    ctx = fake_ctx(operations=operations)
    with pytest.raises(SuboperationPending):
        ctx.lro("purge", lambda: Running(TOKEN, 1.0), kept_as=kept_as)
    assert loads(operations.tokens["other.example/token"], type_name="PurgeResponse")
    with pytest.raises(TokenError):
        loads(operations.tokens["other.example/token"])
    arm = FakeArm().on("POLL", "/operations/1", "", OperationDone({"done": True}))
    ctx = fake_ctx(arm=arm, operations=operations)
    assert ctx.lro("purge", never, kept_as=kept_as) == {"done": True}
    assert operations.tokens == {}


NEAR = attrs.evolve(
    TOKEN, url=f"https://arm.test{ARM_ID.rpartition('/')[0]}/operations/1"
)


@pytest.mark.parametrize(
    ("token", "polls"),
    [(NEAR, 1), (attrs.evolve(NEAR, url="https://arm.test/subscriptions/x/op"), 0)],
    ids=["near", "elsewhere"],
)
def test_lro_of_a_token_that_an_author_may_have_written_returns_nothing(token, polls):
    """Azure is asked for the result again, by the object's own id."""
    operations = MemoryOperations()
    operations.has_mark = lambda _: False
    kept_as = KeptAs("other.example/token", "PurgeResponse")
    operations.save(kept_as.annotation, dumps(token, type_name="PurgeResponse"))
    path = token.url.removeprefix("https://arm.test")
    arm = FakeArm().on("POLL", path, "", OperationDone({"kubeconfig": "another's"}))

    def lro():
        begin = OperationDone({"kubeconfig": "own"})
        ctx = fake_ctx(arm=arm, operations=operations)
        return ctx.lro("purge", lambda: begin, kept_as=kept_as)

    for _ in range(polls):
        with pytest.raises(SuboperationPending):
            lro()
    assert lro() == {"kubeconfig": "own"}
    assert len(arm.sent) == polls


def test_lro_accepted_without_a_monitor_looks_again_later():
    operations = MemoryOperations()
    ctx = fake_ctx(operations=operations)
    with pytest.raises(SuboperationPending) as raised:
        ctx.lro("purge", lambda: ReadResource("no monitor", deleting=False))
    assert raised.value.after_seconds > 0
    assert operations.tokens == {}


def test_two_operations_of_one_object_do_not_mix():
    operations = MemoryOperations()
    ctx = fake_ctx(operations=operations)
    with pytest.raises(SuboperationPending):
        ctx.lro("purge", lambda: Running(TOKEN, 1.0))
    assert ctx.lro("sync", lambda: OperationDone({"other": 1})) == {"other": 1}
    assert set(operations.tokens) == {"purge"}


def test_check_passes_while_there_is_time():
    ctx = fake_ctx()
    ctx.check()  # outside a reconcile, too
    with running(Context(FakeClock(), deadline=10.0, stop=StopSignal())):
        ctx.check()


def test_check_raises_once_the_controller_of_the_reconcile_stops():
    ctx, stop = fake_ctx(), StopSignal()
    with running(Context(FakeClock(), deadline=10.0, stop=stop)):
        stop.stop(30.0)
        with pytest.raises(StoppedError):
            ctx.check()


def test_check_raises_once_the_reconcile_is_out_of_time(clock):
    ctx = fake_ctx(clock=clock)
    with running(Context(clock, deadline=10.0)):
        clock.advance(10.0)
        with pytest.raises(DeadlineError):
            ctx.check()


def test_a_context_shows_no_token_and_no_body():
    operations = MemoryOperations()
    operations.save("purge", "very-secret-token")
    ctx = fake_ctx(raw={"secret": "very-secret-body"}, operations=operations)
    assert "very-secret" not in repr(ctx)
