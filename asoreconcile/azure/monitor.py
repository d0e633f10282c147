"""One poll of a running PUT (reconcile-semantics 1g)."""

from urllib.parse import parse_qs, urlsplit

from asoreconcile.arm.condition_error import ConditionError
from asoreconcile.arm.credentials import CredentialError
from asoreconcile.arm.errors import ArmError
from asoreconcile.arm.outcomes import Done, Failed, Pending, ReadResource, Restart
from asoreconcile.arm.tokens import Shape, Token, TokenError
from asoreconcile.azure.annotations import (
    INPUTS,
    LATEST_RECONCILED_GENERATION,
    PUT_POLLER,
)
from asoreconcile.azure.arm_errors import operation_lost, put_failed
from asoreconcile.azure.outcome import Outcome, Requeue
from asoreconcile.azure.poller import clear_poller, load_poller, poll, store_poller
from asoreconcile.azure.scope import ReconcileScope
from asoreconcile.azure.success import finish
from asoreconcile.catalogue.payload import to_arm
from asoreconcile.errors import AsoreconcileError
from asoreconcile.middleware.context import Pending as SubOperation
from asoreconcile.objects import JsonObject, spec

_UNAUTHENTICATED = 401


def monitor(work: ReconcileScope) -> Outcome:
    """Poll the operation once. Never waits (R1.12).

    Trouble while asking says nothing of the operation: the token stays (D3). Raises
    ConditionError when the operation failed, GoneError.
    """
    try:
        token = load_poller(work)
    except TokenError as error:
        work.memory.accepted = None
        clear_poller(work)
        raise ConditionError(
            f"the recorded Azure operation cannot be read ({error}); it is dropped and "
            "the resource is put again",
            reason="Failed",
        ) from error
    outcome = poll(work, token)
    match outcome:
        case Pending():
            work.memory.follow(outcome)
            store_poller(work, PUT_POLLER, outcome)
            return Requeue(outcome.delay_seconds)
        case Failed(error=fault):
            _came_to_nothing(work)
            raise put_failed(work, fault)
        case Restart():
            # The operation left nothing behind: the next reconcile puts again (L16).
            _came_to_nothing(work)
            raise operation_lost(work, outcome)
        case Done() | ReadResource():
            work.memory.follow(None)
            return _ended(work, _resource_read(work, token, outcome))


def _resource_read(
    work: ReconcileScope, token: Token, outcome: Done | ReadResource
) -> JsonObject | None:
    """The resource, if what was polled was the resource itself: no need to read it
    again. None for another monitor, and for a poll at another api-version.
    """
    if not isinstance(outcome, Done) or token.shape is not Shape.BODY:
        return None
    query = parse_qs(urlsplit(token.url).query)
    asked_at_ours = query.get("api-version") == [work.version.api_version]
    body = outcome.body if asked_at_ours else None
    return body if isinstance(body, dict) else None


def _came_to_nothing(work: ReconcileScope) -> None:
    """Forget an operation that ended badly."""
    work.inputs_changed = _inputs_changed(work)
    work.memory.accepted = None
    clear_poller(work)
    _blame_begun_generation(work)
    work.memory.ended_badly(work.session.generation)


def _blame_begun_generation(work: ReconcileScope) -> None:
    """A failed operation speaks of the spec it was begun with, not of later edits."""
    begun = work.session.annotation(LATEST_RECONCILED_GENERATION)
    if begun.isdecimal():
        work.session.generation = int(begun)


def _inputs_changed(work: ReconcileScope) -> bool:
    """Whether a Secret or ConfigMap is another than when the PUT was made.

    The event of that change was spent on a poll, and the spec's generation does not
    tell. What cannot be read now is another too: the next PUT says so.
    """
    begun = work.session.annotation(INPUTS)
    if not begun:
        return False
    try:
        to_arm(work.version, spec(work.obj), name="", inputs=work.references)
    except ConditionError:
        return True
    return work.references.mark() != begun


def _ended(work: ReconcileScope, body: JsonObject | None) -> Outcome:
    """The operation is over. Its token goes once the resource was read: until then a
    failed read must come back here, not to another PUT.
    """
    try:
        outcome = finish(work, body)
    except AsoreconcileError as error:
        if _is_about_the_resource(error):
            clear_poller(work)
        raise
    changed = _inputs_changed(work)
    clear_poller(work)
    return Requeue() if changed else outcome


def _is_about_the_resource(error: AsoreconcileError) -> bool:
    """Whether the resource was read and found wanting, so that its PUT is over.

    Throttling, sign-in, transport and our own shutdown say nothing of it (L15, D3).
    """
    match error:
        case ArmError():
            return not error.is_transient and error.status != _UNAUTHENTICATED
        case CredentialError():
            return False
        case ConditionError() | SubOperation():
            return True
        case _:
            return False
