"""The record of a running operation, a PUT's or a DELETE's: the resume token in the
annotations, and the state of its polls in memory.
"""

from collections.abc import Mapping

import attrs

from asoreconcile.azure.arm.outcomes import (
    ArmOutcome,
    Failed,
    OperationDone,
    PollState,
    ReadResource,
    Restart,
)
from asoreconcile.azure.arm.tokens import (
    Token,
    TokenError,
    TokenShape,
    concerns,
    is_near,
    is_signed_anew,
    loads,
)
from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
    LATEST_RECONCILED_GENERATION,
    POLLER_ANNOTATIONS,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
)
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED, last_put_of
from asoreconcile.azure.reconcile.scope.extension_operations import AnnotationLroStore
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.state.memory import ObjectMemory


def recorded_token(
    stored: Mapping[str, str], *, arm_id: str, deleting: bool, is_marked: bool
) -> Token:
    """Return the recorded operation. stored: the object's annotations. is_marked:
    whether the token has the operator's mark.

    Raises TokenError if the token cannot be read (R1.14), or belongs to another
    resource, because an annotation can be copied. A token without the mark may have
    been written by an author, so its monitor must be in the subscription and provider
    of the resource.
    """
    token = loads(stored.get(POLLER_TOKEN) or "")
    if not concerns(token, arm_id, deleting=deleting):
        raise TokenError("it belongs to another resource or another kind of request")
    if not is_marked and not is_near(token, arm_id):
        raise TokenError("its monitor is of another subscription or provider")
    return token


def running_operation(
    patcher: PatchHelper, operations: AnnotationLroStore, *, deleting: bool
) -> Token | None:
    """Return the recorded operation of a PUT or, if `deleting`, of a DELETE; None if no
    operation is recorded or the record cannot be read. operations: store that knows the
    mark.
    """
    stored = patcher.annotations
    if stored.get(POLLER_ID) != (DELETE_POLLER if deleting else PUT_POLLER):
        return None
    try:
        return recorded_token(
            stored,
            arm_id=patcher.arm_id,
            deleting=deleting,
            is_marked=operations.has_mark(POLLER_TOKEN),
        )
    except TokenError:
        return None


def clear_token(patcher: PatchHelper, memory: ObjectMemory) -> None:
    """Drop the recorded operation from memory and annotations (R2.2)."""
    memory.poll = PollState()
    patcher.annotate(dict.fromkeys(POLLER_ANNOTATIONS))


def note_refusal(patcher: PatchHelper, memory: ObjectMemory) -> None:
    """Record that this generation was PUT and refused, and drop its operation."""
    clear_token(patcher, memory)
    patcher.annotate({LATEST_RECONCILED_GENERATION: str(patcher.generation)})


def forget_put(patcher: PatchHelper, memory: ObjectMemory) -> None:
    """Drop the record of an accepted PUT whose operation failed or left no trace."""
    memory.accepted = None
    record = last_put_of(patcher.annotations)
    if record is not None:
        patcher.annotate({OBSERVED: record.withdrawn().dumps()})


def newest_token(recorded: Token, newest: Token | None) -> Token:
    """Return the recorded operation with the newest signature that is known (L19).

    newest: the token that a poll has remembered.
    """
    # The stored token decides: another process may have started another operation.
    if newest is None or not is_signed_anew(recorded, newest):
        return recorded
    return attrs.evolve(recorded, url=newest.url, location=newest.location)


def withheld(outcome: ArmOutcome, *, deleting: bool) -> ArmOutcome:
    """Return the outcome without the monitor's texts, which may be about another
    resource; so the end of a DELETE is read from the resource.

    The operator reads them with its own rights, and the author can read the status.
    """
    match outcome:
        case OperationDone() if not deleting:
            return outcome
        case Failed() | Restart() | OperationDone():
            return ReadResource("record without our mark", deleting=deleting)
        case ReadResource():
            return attrs.evolve(outcome, error=None)
    return outcome


def is_news(stored: Token, polled: Token) -> bool:
    """Return whether the newer token must be stored: with it, another process would
    poll differently.

    A new status word alone makes no difference, unless it says that a resource which is
    its own monitor has been seen (L7). A new signature makes no difference either:
    Azure renews the signatures of some monitors with each answer, and accepts the older
    ones, too.
    """
    if not is_signed_anew(stored, polled):
        return True
    not_seen = stored.shape is TokenShape.BODY and stored.state == "InProgress"
    return not_seen and polled.state != stored.state


def is_polled_alike(one: Token, other: Token) -> bool:
    """Return whether two tokens name the same monitors with the same signatures."""
    return (one.url, one.location) == (other.url, other.location)
