"""The first step of a create or update: check, convert, PUT.

The order is the contract of reconcile-semantics 1e.
"""

from contextlib import ExitStack
from http import HTTPStatus

import attrs

from asoreconcile.arm import outcomes
from asoreconcile.arm.errors import ArmError
from asoreconcile.arm.outcomes import Done, Failed, Pending
from asoreconcile.azure.annotations import (
    INPUTS,
    LAST_RECONCILED_VERSION,
    LATEST_RECONCILED_GENERATION,
    PUT_POLLER,
    label_value,
)
from asoreconcile.azure.arm_errors import put_failed
from asoreconcile.azure.claim import go_on_written, restore_owner
from asoreconcile.azure.conditions import reconciling
from asoreconcile.azure.drift import note_of_put, without_put
from asoreconcile.azure.duplicates import require_sole
from asoreconcile.azure.external_deletion import RECREATED, is_recreated, what_to_do
from asoreconcile.azure.identity import Identity, identify
from asoreconcile.azure.monitor import monitor
from asoreconcile.azure.outcome import Outcome, Requeue
from asoreconcile.azure.payload import payload_of
from asoreconcile.azure.poller import clear_poller, store_poller
from asoreconcile.azure.prechecks import run_prechecks
from asoreconcile.azure.put_ledger import PutRecord, digest
from asoreconcile.azure.scope import ReconcileScope
from asoreconcile.azure.success import finish
from asoreconcile.azure.turns import Reading
from asoreconcile.azure.validate import require_valid
from asoreconcile.middleware.requests import Postpone
from asoreconcile.objects import JsonObject, status

# In a row: so often only a busy neighbour can be the reason.
_MOST_OVERTAKEN = 5


def begin(work: ReconcileScope) -> Outcome:
    """PUT the resource, unless a check says not now. One PUT at most (R1.12).

    Raises ConditionError, ArmError, ArmTransportError, Pending, GoneError, StaleError;
    RetryError when a write of a parent or a child comes in between.
    """
    # What is read from here on must still hold when it is put.
    with work.operator.turns.reading(work.arm_id) as reading:
        return _begin(work, reading)


def _begin(work: ReconcileScope, reading: Reading) -> Outcome:
    accepted = work.memory.accepted
    if accepted is not None and accepted.running is not None:
        # Not recorded, or no more. It runs, whatever the spec says: end it first (L27).
        # Asked at once: it may be another process that saw its end and cleared it.
        _record(work, accepted, attrs.evolve(accepted.running, delay_seconds=0.0))
        return monitor(work)
    require_valid(work)
    owner = work.owner()
    if restore_owner(work, owner):
        return go_on_written(work)
    postponed = run_prechecks(work, owner)
    if isinstance(postponed, Postpone):
        work.session.restore_ready()
        return Requeue(postponed.after_seconds)
    identity = identify(work, owner)
    work.require_subscription(identity.arm_id)
    require_sole(work, identity.arm_id)
    body = payload_of(work, identity)
    put = digest(identity.arm_id, work.version.api_version, body)
    work.session.set_ready(reconciling(work.session.generation), reason_aware=True)
    if accepted is not None and accepted.digest == put:
        generation = work.session.generation
        return _go_on(work, attrs.evolve(accepted, generation=generation))
    have = without_put(work, identity, body) if accepted is None else None
    if have is not None:
        return finish(work, have)
    return _put(work, identity, body, put, reading)


def _put(
    work: ReconcileScope,
    identity: Identity,
    body: JsonObject,
    put: bytes,
    reading: Reading,
) -> Outcome:
    work.session.confirm()
    if work.memory.use_credential(work.connection.source):
        work.credential_event()
    work.log.info("Putting resource", armId=identity.arm_id)
    try:
        outcome = _send(work, identity, body, reading)
    except ArmError as error:
        if _is_overtaken(work, error):
            return Requeue()
        outcome = Failed(error)
    if isinstance(outcome, Failed):
        clear_poller(work, notes=_generation_note(work.session.generation))
        raise put_failed(work, outcome.error)
    work.memory.overtaken = 0
    accepted = PutRecord(
        put,
        work.session.generation,
        running=outcome if isinstance(outcome, Pending) else None,
        inputs=work.references.mark(),
        notes=note_of_put(work, identity, body),
        recreated=is_recreated(
            status(work.obj),
            arm_type=work.version.arm_type,
            is_absent=work.context.is_known_absent,
            created=isinstance(outcome, Done | Pending) and outcome.created,
        ),
    )
    work.memory.accepted = accepted
    work.event(
        "Normal",
        "BeginCreateOrUpdate",
        f'Azure accepted the create or update of "{identity.arm_id}"',
    )
    if accepted.recreated:
        work.event("Warning", RECREATED, what_to_do(identity.arm_id))
    return _go_on(work, accepted)


def _send(
    work: ReconcileScope, identity: Identity, body: JsonObject, reading: Reading
) -> outcomes.Outcome:
    """The PUT itself. Where the body carries what was read, it goes out only while
    that holds: by the ETag of what was read, else by turns.
    """
    rests_on = work.context.rests_on
    headers = {"If-Match": rests_on} if rests_on else {}
    turns = work.operator.turns
    with ExitStack() as stack:
        if rests_on == "":
            stack.enter_context(turns.alone(reading))
        stack.enter_context(turns.writing(identity.arm_id))
        # From here on Azure may have this body, whatever its answer and what it had
        # before.
        work.memory.accepted = None
        return work.connection.client.put(
            identity.arm_id, work.version.api_version, body, headers=headers
        )


def _is_overtaken(work: ReconcileScope, error: ArmError) -> bool:
    """Whether only somebody else's write came in between, so that the next reconcile
    reads and puts at once. Who is overtaken again and again gets a condition, and backs
    off.
    """
    if error.status != HTTPStatus.PRECONDITION_FAILED or not work.context.rests_on:
        return False
    work.memory.overtaken += 1
    if work.memory.overtaken > _MOST_OVERTAKEN:
        return False
    work.log.info(
        "Resource changed since it was read; beginning anew",
        times=work.memory.overtaken,
    )
    return True


def _go_on(work: ReconcileScope, accepted: PutRecord) -> Outcome:
    """What follows an accepted PUT: record its operation, or finish."""
    if accepted.running is not None:
        _record(work, accepted, accepted.running)
        return Requeue(accepted.running.delay_seconds)
    notes = {**_generation_note(accepted.generation), **accepted.notes}
    work.session.annotate(notes, labelled=_build(work))
    return finish(work)


def _record(work: ReconcileScope, accepted: PutRecord, running: Pending) -> None:
    # Dying between Azure's answer and this write costs one identical PUT, no more.
    notes = _generation_note(accepted.generation)
    noted = {**notes, **accepted.notes, INPUTS: accepted.inputs or None}
    store_poller(work, PUT_POLLER, running, notes=noted, labelled=_build(work))


def _build(work: ReconcileScope) -> dict[str, str]:
    return {LAST_RECONCILED_VERSION: label_value(work.operator.build)}


def _generation_note(generation: int) -> dict[str, str | None]:
    return {LATEST_RECONCILED_GENERATION: str(generation)}
