"""The first step of a create or update: check, convert, PUT.

The order is the contract of reconcile-semantics 1e.
"""

from asoreconcile.arm.faults import ArmError
from asoreconcile.arm.outcomes import Failed, Pending
from asoreconcile.azure.accepted import digest
from asoreconcile.azure.faults import put_failed
from asoreconcile.azure.identity import Identity, identify
from asoreconcile.azure.outcome import Again, Outcome
from asoreconcile.azure.owner import Owner
from asoreconcile.azure.poller import clear_poller, store_poller
from asoreconcile.azure.prechecks import run_prechecks
from asoreconcile.azure.progress import reconciling
from asoreconcile.azure.success import finish
from asoreconcile.azure.wire import (
    LAST_RECONCILED_VERSION,
    LATEST_RECONCILED_GENERATION,
    MAX_LABEL_LENGTH,
    PUT_POLLER,
    RESOURCE_ID,
)
from asoreconcile.azure.work import Work
from asoreconcile.catalogue.payload import to_arm
from asoreconcile.middleware.points import MODIFY_PAYLOAD
from asoreconcile.middleware.requests import ModifyPayload, Postpone
from asoreconcile.objects import JsonObject, spec, uid_of


def begin(work: Work) -> Outcome:
    """PUT the resource, unless a check says not now. One PUT at most (R1.12).

    Raises ConditionError, ArmError, ArmTransportError, Pending, GoneError.
    """
    owner = work.owner()
    _derive_lost_id(work, owner)
    postponed = run_prechecks(work, owner)
    if isinstance(postponed, Postpone):
        _note_generation(work)
        return Again(postponed.after_seconds)
    identity = identify(work, owner)
    work.require_subscription(identity.arm_id)
    body = _payload(work, identity)
    put = digest(identity.arm_id, work.version.api_version, body)
    work.session.set_ready(reconciling(work.session.generation), reason_aware=True)
    if work.kind.accepted.is_remembered(uid_of(work.obj), put):
        return finish(work)
    return _put(work, identity, body, put)


def _put(work: Work, identity: Identity, body: JsonObject, put: bytes) -> Outcome:
    work.log.info("Putting resource", armId=identity.arm_id)
    uid = uid_of(work.obj)
    try:
        outcome = work.connection.client.put(
            identity.arm_id, work.version.api_version, body
        )
    except ArmError as error:
        outcome = Failed(error)
    if isinstance(outcome, Failed):
        work.kind.accepted.forget(uid)
        clear_poller(work, notes=_generation_note(work))
        raise put_failed(work, outcome.error)
    if isinstance(outcome, Pending):
        # Recorded before anything else: dying between the answer and this write costs
        # one identical PUT, nothing more.
        store_poller(work, PUT_POLLER, outcome, notes=_generation_note(work))
    work.kind.accepted.remember(uid, put)
    work.event(
        "Normal",
        "BeginCreateOrUpdate",
        f'Azure accepted the create or update of "{identity.arm_id}"',
    )
    if isinstance(outcome, Pending):
        return Again(outcome.delay_seconds)
    _note_generation(work)
    return finish(work)


def _payload(work: Work, identity: Identity) -> JsonObject:
    body = to_arm(
        work.version, spec(work.obj), name=identity.name, inputs=work.references
    )
    modify = work.operator.extensions.chain(MODIFY_PAYLOAD, work.kind.group_kind)
    return modify(ModifyPayload(ctx=work.context, obj=work.obj, payload=body))


def _derive_lost_id(work: Work, owner: Owner | None) -> None:
    """Write the resource id anew when someone removed it after the claim (D10)."""
    if not work.arm_id:
        identity = identify(work, owner)
        work.session.annotate({RESOURCE_ID: identity.arm_id})


def _generation_note(work: Work) -> dict[str, str | None]:
    return {LATEST_RECONCILED_GENERATION: str(work.session.generation)}


def _note_generation(work: Work) -> None:
    work.session.annotate(
        _generation_note(work),
        labelled={LAST_RECONCILED_VERSION: work.operator.build[:MAX_LABEL_LENGTH]},
    )
