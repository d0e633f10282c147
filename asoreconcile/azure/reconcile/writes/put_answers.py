"""Decides how to react to the answer to a PUT. Pure.

`after_put` makes the only record of a PUT that Azure accepted (`AcceptedPut`).
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus

import attrs

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import (
    ArmOutcome,
    Failed,
    OperationDone,
    Pending,
    PollState,
)
from asoreconcile.azure.reconcile.model.annotations import (
    LATEST_RECONCILED_GENERATION,
    PUT_POLLER,
    build_label,
)
from asoreconcile.azure.reconcile.model.decisions import (
    Decision,
    Effect,
    EmitEvent,
    Log,
    PatchMetadata,
    Put,
    Read,
    ReadAfter,
    Refused,
    Requeue,
    SetMetadata,
    UpdateMemory,
    WakeChildren,
)
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED, AcceptedPut
from asoreconcile.azure.reconcile.writes.external_deletion import (
    RECREATED,
    is_recreated,
    what_to_do,
)
from asoreconcile.azure.reconcile.writes.operation_polls import (
    clear_token,
    token_annotations,
)
from asoreconcile.base.objects import JsonObject

# In a row: only a busy neighbour can be the reason for so many.
_MAX_PRECONDITION_FAILURES = 5


@attrs.frozen
class PutAnswer:
    """The facts after a PUT.

    answer: Azure's, or its refusal. stored: the object's annotations. before: its
    status. rests_on: the ETag in the PUT's If-Match. was_absent: a read before the PUT
    found nothing. precondition_failures: earlier PUTs in a row that Azure refused
    because somebody else had written.
    """

    put: Put
    answer: ArmOutcome | ArmError
    generation: int
    stored: Mapping[str, str]
    before: JsonObject
    arm_type: str
    rests_on: str | None
    was_absent: bool
    precondition_failures: int
    now: float
    build: str


def after_put(facts: PutAnswer) -> Decision:
    """Record the operation, read the resource, or fail."""
    match facts.answer:
        case ArmError() as error:
            times = facts.precondition_failures + 1
            if not _precondition_failed(error, facts.rests_on):
                return _refused(facts, error)
            if times > _MAX_PRECONDITION_FAILURES:
                return _refused(facts, error, UpdateMemory(precondition_failures=times))
            # Somebody else wrote in between: read and PUT again at once. After too many
            # such failures in a row: show a condition and back off.
            why = f"{times} in a row"
            log = Log("info", "Resource changed since it was read; beginning anew", why)
            return Decision((UpdateMemory(precondition_failures=times), log), Requeue())
        case Failed(error=error):
            return _refused(facts, error)
        case answer:
            return _accepted(facts, answer)


def _precondition_failed(error: ArmError, rests_on: str | None) -> bool:
    return error.status == HTTPStatus.PRECONDITION_FAILED and bool(rests_on)


def _refused(facts: PutAnswer, error: ArmError, *effects: Effect) -> Decision:
    note = SetMetadata(_generation_note(facts.generation))
    failed = Refused(error, "CreateOrUpdate")
    return Decision((*effects, *clear_token(facts.stored), note), failed)


def _accepted(facts: PutAnswer, answer: ArmOutcome) -> Decision:
    put = facts.put
    accepted = AcceptedPut(
        put.record,
        facts.generation,
        running=answer if isinstance(answer, Pending) else None,
        recreated=is_recreated(
            facts.before,
            arm_type=facts.arm_type,
            is_absent=facts.was_absent,
            created=isinstance(answer, OperationDone | Pending) and answer.created,
        ),
    )
    effects: list[Effect] = [
        # First: if a later write fails, it must not lead to a second PUT (D15).
        UpdateMemory(precondition_failures=0, accepted=accepted),
        EmitEvent(
            "Normal",
            "BeginCreateOrUpdate",
            f'Successfully sent resource to Azure with ID "{put.arm_id}"',
        ),
    ]
    if accepted.recreated:
        # The resources below are gone, too: their objects must find out now.
        event = EmitEvent("Warning", RECREATED, what_to_do(put.arm_id))
        effects += [event, WakeChildren()]
    return after_accepted(effects, accepted, now=facts.now, build=facts.build)


def after_accepted(
    effects: Sequence[Effect], accepted: AcceptedPut, *, now: float, build: str
) -> Decision:
    """After an accepted PUT, record its operation, or read the resource."""
    running = accepted.running
    if running is not None:
        poll, patch = operation_record(accepted, running, now=now, build=build)
        return Decision((poll, *effects, patch), Requeue(running.delay_seconds))
    noted = SetMetadata(_notes(accepted), build_label(build))
    return Decision((*effects, noted), Read(ReadAfter.PUT))


def operation_record(
    accepted: AcceptedPut, running: Pending, *, now: float, build: str
) -> tuple[Effect, Effect]:
    """Return the record of an accepted PUT's operation, for the next process too."""
    # A crash between Azure's answer and this write costs one identical PUT, no more.
    notes, label = _notes(accepted), build_label(build)
    notes |= token_annotations(running.token, PUT_POLLER)
    due = PollState(running.progress, now + running.delay_seconds)
    return UpdateMemory(poll=due), PatchMetadata(notes, label)


def _notes(accepted: AcceptedPut) -> dict[str, str | None]:
    return {
        **_generation_note(accepted.generation),
        OBSERVED: accepted.record.dumps(),
    }


def _generation_note(generation: int) -> dict[str, str | None]:
    return {LATEST_RECONCILED_GENERATION: str(generation)}
