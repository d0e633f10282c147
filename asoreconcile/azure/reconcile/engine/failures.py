"""Turns exceptions into conditions, and collects the facts for `failure_report`.

Most failures are raised as a ConditionError; the others are converted here.
"""

import errno

from asoreconcile.azure.arm.bearer import ForeignHostError
from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.catalogue.conversion import KindConversionError
from asoreconcile.azure.catalogue.paths import PathError
from asoreconcile.azure.catalogue.payload import SpecError
from asoreconcile.azure.reconcile.engine.failure_report import (
    FailureFacts,
    has_no_way_in,
)
from asoreconcile.azure.reconcile.model.owner import owner_target
from asoreconcile.azure.reconcile.scope.arm_errors import read_failed, unreachable
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.errors import in_chain
from asoreconcile.base.objects import ObjectKey, generation, is_deleting, spec
from asoreconcile.base.reconcile_context import DeadlineError
from asoreconcile.kube.errors import ApiError, TransportError
from asoreconcile.redaction import redact

# Errors of the Kubernetes API that a person must know. Any other is temporary, or a
# race that the next reconcile resolves.
_VERDICTS = frozenset({400, 403, 405, 413, 422})
_SHORT_OF = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_NO_THREAD = "can't start new thread"


def failure_of(scope: ReconcileScope, error: Exception) -> ConditionError | None:
    """The condition that an exception becomes.

    None: no condition can be written, or none is needed; the queue backs off.
    """
    match error:
        case ConditionError():
            return error
        case ArmError():
            return read_failed(scope, error)
        case ArmTransportError():
            return unreachable(scope, error)
        case ForeignHostError():
            # An answer contains a URL on a foreign host, such as a list's next page.
            return ConditionError(
                f"Azure's answer cannot be followed: {error}", reason="Failed"
            )
        case SpecError() | PathError() | KindConversionError():
            return ConditionError(str(error), reason="Failed", severity="Error")
        case ApiError():
            return _refused(error) if error.status in _VERDICTS else None
        case TransportError():
            return None
        case DeadlineError():
            return ConditionError(
                "the reconcile has used up its time; the next one begins anew",
                reason="UnknownError",
            )
        case _ if short_of := _shortage(error):
            return ConditionError(
                f"the operator's process is short of what it needs ({short_of}): see"
                " its limits; it tries again",
                reason="UnknownError",
            )
        case _:
            # Called from an except block, so the record has the stack.
            scope.log.exception("Reconcile failed unexpectedly")  # noqa: LOG004
            return ConditionError(
                f"internal error ({type(error).__name__}): see the operator's log",
                reason="Failed",
            )


def _shortage(error: Exception) -> str:
    """The operating system's message about a shortage; "" for other errors."""
    refused = in_chain(error, OSError)
    if isinstance(refused, OSError) and refused.errno in _SHORT_OF:
        return f"[Errno {refused.errno}] {refused.strerror}"
    # CPython has no separate class for it.
    return _NO_THREAD if _NO_THREAD in str(error) else ""


def facts_of_failure(
    scope: ReconcileScope, error: ConditionError, *, is_repeated: bool
) -> FailureFacts:
    """The facts about a failure; counts it for the back-off.

    is_repeated: the condition was the same before.
    """
    seconds = scope.memory.failure_streak.record_failure(
        scope.operator.clock.monotonic()
    )
    edited = scope.patcher.generation != generation(scope.obj)
    return FailureFacts(
        error=error,
        # Before the text is cut: half of a secret would not be found.
        text=redact(f"{error.reason}: {error}", namespace=scope.key.namespace),
        deleting=is_deleting(scope.obj),
        is_repeated=is_repeated,
        seconds=seconds,
        owner_is_there=error.reason == "WaitingForOwner" and _has_owner(scope),
        credential=scope.connection.source if has_no_way_in(error) else "",
        is_outdated=edited or scope.inputs_changed,
        delay_seconds=scope.kind.requeue_backoff.failed(scope.memory, error),
    )


def _has_owner(scope: ReconcileScope) -> bool:
    kind = owner_target(scope.version, scope.obj)
    if kind is None:
        return False
    key = ObjectKey(scope.key.namespace, str(spec(scope.obj)["owner"]["name"]))
    return scope.objects.get(kind, key) is not None


def _refused(error: ApiError) -> ConditionError:
    return ConditionError(
        f"the Kubernetes API refuses what this resource needs: {error}",
        reason="Failed",
    )
