"""What a reconcile that failed shows: a Ready condition and an event (3c, R7.3).

Most failures are born as a ConditionError; what others become is decided here, once.
"""

from asoreconcile.arm.condition_error import ConditionError
from asoreconcile.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm_errors import read_failed, unreachable
from asoreconcile.azure.owner import owner_target
from asoreconcile.azure.scope import ReconcileScope
from asoreconcile.catalogue.conversion import ConversionError
from asoreconcile.catalogue.paths import PathError
from asoreconcile.catalogue.payload import SpecError
from asoreconcile.errors import in_chain
from asoreconcile.kube.errors import ApiError, TransportError
from asoreconcile.objects import ObjectKey, spec
from asoreconcile.reconcile_context import DeadlineError
from asoreconcile.redaction import redact

# The API refuses events over 1,024 characters; the id at the end is what support asks
# for first, so it is the message that is cut.
_MAX_EVENT = 1_000
_NOT_LET_IN = frozenset({401, 403})
# Of what the cluster does not have yet, and of how long it may take to come.
_MAY_BE_ON_ITS_WAY = frozenset(
    {"ConfigMapNotFound", "ReferenceNotFound", "SecretNotFound", "WaitingForOwner"}
)
_PATIENCE_SECONDS = 60.0
# The verdicts of the Kubernetes API that a person has to know; any other is trouble of
# the moment, or a race that the next reconcile wins.
_VERDICTS = frozenset({400, 403, 405, 413, 422})


def failure_of(work: ReconcileScope, error: Exception) -> ConditionError | None:
    """The condition that an exception becomes.

    None: there is nowhere to write one, or nothing to say; the queue backs off.
    """
    match error:
        case ConditionError():
            return error
        case ArmError():
            return read_failed(work, error)
        case ArmTransportError():
            return unreachable(work, error)
        case SpecError() | PathError() | ConversionError():
            return ConditionError(str(error), reason="Failed", severity="Error")
        case ApiError():
            return _refused(error) if error.status in _VERDICTS else None
        case TransportError():
            return None
        case DeadlineError():
            return ConditionError(
                "the pass has used up its time; the next one begins anew",
                reason="UnknownError",
            )
        case _:
            # The caller is handling it, so that the record has its stack.
            work.log.exception("Reconcile failed unexpectedly")  # noqa: LOG004
            return ConditionError(
                f"internal error ({type(error).__name__}): see the operator's log",
                reason="Failed",
            )


def is_worth_an_event(
    work: ReconcileScope, error: ConditionError, *, seconds: float
) -> bool:
    """Whether a failure is a Warning, for an object that has failed for so long.

    Objects that are applied together wait for each other for a moment: no trouble yet.
    And the trouble of an owner that is there is shown by the owner.
    """
    if error.reason == "WaitingForOwner" and _has_owner(work):
        return False
    return error.reason not in _MAY_BE_ON_ITS_WAY or seconds >= _PATIENCE_SECONDS


def _has_owner(work: ReconcileScope) -> bool:
    kind = owner_target(work.version, work.obj)
    if kind is None:
        return False
    key = ObjectKey(work.key.namespace, str(spec(work.obj)["owner"]["name"]))
    return work.objects.get(kind, key) is not None


def event_text(
    work: ReconcileScope, error: ConditionError, *, again: bool = False
) -> str:
    """What the event of a failure says: reason, message, and of a request that Azure
    refused, or did not answer, its id, and whose credential it does not let in.

    again: the condition said so before. Such an event has no id, which is another each
    time (the log has it): so the failure stays one event, which is counted.
    """
    # Before it is cut: half of a secret is harder to find.
    text = redact(f"{error.reason}: {error}", namespace=work.key.namespace)
    fault = in_chain(error, ArmError) or in_chain(error, ArmTransportError)
    if fault is None:
        return text
    told = []
    if isinstance(fault, ArmError) and fault.status in _NOT_LET_IN:
        told.append(f"credential from {work.connection.source}")
    is_unsent = isinstance(fault, ArmTransportError) and fault.sent == "no"
    if fault.correlation_id and not is_unsent and not again:
        told.append(f"correlation id {fault.correlation_id}")
    if not told:
        return text
    tail = f" ({', '.join(told)})"
    room = _MAX_EVENT - len(tail)
    return (text if len(text) <= room else text[: room - 3] + "...") + tail


def _refused(error: ApiError) -> ConditionError:
    return ConditionError(
        f"the Kubernetes API refuses what this resource needs: {error}",
        reason="Failed",
    )
