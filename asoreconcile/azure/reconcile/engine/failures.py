"""Turns exceptions into conditions, and makes the event of a failure.

Most failures are raised as a ConditionError; the others are converted here. Rules:
R3.1-R3.7, R4.1-R4.3, R7.3.
"""

import errno
import math

from asoreconcile.azure.arm.bearer import ForeignHostError
from asoreconcile.azure.arm.condition_error import ConditionError, unusable
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.catalogue.conversion import KindConversionError
from asoreconcile.azure.catalogue.paths import PathError
from asoreconcile.azure.catalogue.payload import SpecError
from asoreconcile.azure.middleware.chain import ExtensionFailedError
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    OPERATOR_NAMESPACE,
    POLLER_TOKEN,
)
from asoreconcile.azure.reconcile.model.conditions import (
    ReadyCondition,
    is_ready,
    merge_ready,
)
from asoreconcile.azure.reconcile.model.owner import Objects, owner_target
from asoreconcile.azure.reconcile.scope.arm_errors import ErrorConditions
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.scope.shared_dependencies import (
    KindRuntime,
    SharedDependencies,
)
from asoreconcile.azure.reconcile.state.memory import ObjectMemory
from asoreconcile.base.errors import in_chain
from asoreconcile.base.objects import (
    JsonObject,
    generation,
    is_deleting,
    key_of,
    status,
    uid_of,
)
from asoreconcile.base.reconcile_context import DeadlineError
from asoreconcile.cache.unreadable import REASON
from asoreconcile.kube.errors import (
    ApiError,
    InvalidError,
    NotFoundError,
    TransportError,
)
from asoreconcile.kube.patch import merge_patch
from asoreconcile.redaction import redact

# Errors of the Kubernetes API that a person must know. Any other is temporary, or a
# race that the next reconcile resolves.
# 500 is also the answer for an admission webhook that does not answer.
_NOT_ANSWERED = 500
_VERDICTS = frozenset({400, 403, 405, 413, 422, _NOT_ANSWERED})
_SHORT_OF = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
# A Ready resource is not in order if so many reads in a row have failed.
_FAILURES_UNTIL_SHOWN = 3
# A failed POST for exported values ends no reconcile while the targets have the values
# of the last one (`exports.export`); otherwise a value is missing.
_READS = frozenset({"GET", "HEAD"})
_NO_THREAD = "can't start new thread"
# The API refuses events over 1,024 characters; the message is cut, not the id at its
# end, which support asks for first.
_MAX_EVENT = 1_000
_NOT_LET_IN = frozenset({401, 403})
# Reasons of missing objects, and how long they may take to appear.
_MAY_BE_ON_ITS_WAY = frozenset(
    {"ConfigMapNotFound", "ReferenceNotFound", "SecretNotFound", "WaitingForOwner"}
)
_PATIENCE_SECONDS = 60.0


def failure_of(errors: ErrorConditions, error: Exception) -> ConditionError | None:
    """Return the condition that an exception becomes. errors: maker of the conditions
    of ARM's failures.

    None if no condition can be written or is needed: then only the queue backs off.
    """
    match error:
        case ConditionError():
            return error
        case ArmError():
            return errors.read_failed(error)
        case ArmTransportError():
            return errors.unreachable(error)
        case ForeignHostError():
            # An answer contains a URL on a foreign host, such as a list's next page.
            return ConditionError(
                f"Azure's answer cannot be followed: {error}", reason="Failed"
            )
        case SpecError() | PathError() | KindConversionError():
            return unusable(str(error))
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
        case ExtensionFailedError():
            errors.log.exception("Extension failed", **error.fields)  # noqa: LOG004
            return ConditionError(f"{error}: see the operator's log", reason="Failed")
        case _:
            # Called from an except block, so the record has the stack.
            errors.log.exception("Reconcile failed unexpectedly")  # noqa: LOG004
            return ConditionError(
                f"internal error ({type(error).__name__}): see the operator's log",
                reason="Failed",
            )


def leaves_ready(
    patcher: PatchHelper, memory: ObjectMemory, error: ConditionError
) -> bool:
    """Return whether Ready stays True after a failure.

    It does if Azure has refused only a few reads in a row of a Ready resource: such a
    failure says nothing about the resource.
    """
    if (
        memory.attempts >= _FAILURES_UNTIL_SHOWN - 1
        or memory.accepted is not None
        or is_deleting(patcher.obj)
        or patcher.annotations.get(POLLER_TOKEN)
        or not is_ready(patcher.obj, patcher.generation)
    ):
        return False
    refused = in_chain(error, CredentialError)
    if refused is not None:
        return refused.is_passing
    fault = in_chain(error, ArmError) or in_chain(error, ArmTransportError)
    return error.is_unread or (fault is not None and fault.method in _READS)


def _shortage(error: Exception) -> str:
    """Return the operating system's message about a shortage; "" for other errors."""
    refused = in_chain(error, OSError)
    if isinstance(refused, OSError) and refused.errno in _SHORT_OF:
        return f"[Errno {refused.errno}] {refused.strerror}"
    # CPython has no separate class for it.
    no_thread = in_chain(error, RuntimeError)
    return _NO_THREAD if no_thread and _NO_THREAD in str(no_thread) else ""


def is_access_refused(error: ConditionError) -> bool:
    """Return whether Azure refused the credential. The event then names the
    credential.
    """
    fault = in_chain(error, ArmError)
    return fault is not None and fault.status in _NOT_LET_IN


def is_worth_an_event(
    error: ConditionError, seconds: float, *, owner_is_there: bool
) -> bool:
    """Return whether a failure gets an event.

    A short wait gets no event, because objects that are applied together wait for each
    other. A wait for an owner that exists gets no event either: the owner has its own.

    seconds: time since reconciles began to fail. owner_is_there: whether the owner is
    in the cluster.
    """
    # With severity Info nothing is wrong: the object waits, as for a maintenance
    # window.
    if error.severity == "Info":
        return False
    if error.reason == "WaitingForOwner" and owner_is_there:
        return False
    return error.reason not in _MAY_BE_ON_ITS_WAY or seconds >= _PATIENCE_SECONDS


def event_message(
    error: ConditionError, namespace: str, *, credential: str, is_repeated: bool
) -> str:
    """Return the message of a failure's event: reason, message, request id, credential.

    The request id is given if Azure refused or did not answer a request, the credential
    if Azure refused it. Known secrets are hidden.

    namespace: namespace of the object. credential: the Secret of the credential to
    name, or "". is_repeated: whether the condition was the same before. A repeated
    event has no request id: the id differs each time, and Kubernetes counts only equal
    events as one. The log has the id.
    """
    # Before the text is cut: half of a secret would not be found.
    text = redact(f"{error.reason}: {error}", namespace=namespace)
    fault = in_chain(error, ArmError) or in_chain(error, ArmTransportError)
    if fault is None:
        return text
    details = []
    if isinstance(fault, ArmError) and fault.is_transient and fault.retry_after_seconds:
        # `asoctl explain` reads it.
        details.append(f"Azure asked to wait {math.ceil(fault.retry_after_seconds)} s")
    if credential:
        details.append(f"credential from {credential}")
    is_unsent = isinstance(fault, ArmTransportError) and fault.sent == "no"
    if fault.correlation_id and not is_unsent and not is_repeated:
        details.append(f"correlation id {fault.correlation_id}")
    if not details:
        return text
    tail = f" ({', '.join(details)})"
    room = _MAX_EVENT - len(tail)
    return (text if len(text) <= room else text[: room - 3] + "...") + tail


def has_owner(patcher: PatchHelper, objects: Objects) -> bool:
    """Return whether the owner that the spec names is in the cluster."""
    owner = owner_target(patcher.version, patcher.obj)
    return owner is not None and objects.get(*owner) is not None


def _refused(error: ApiError) -> ConditionError:
    text = f"the Kubernetes API refuses what this resource needs: {error}"
    failed = ConditionError(text, reason="Failed")
    failed.is_unread = error.status == _NOT_ANSWERED
    return failed


def report_unreadable(
    operator: SharedDependencies, kind: KindRuntime, known: JsonObject, message: str
) -> None:
    """Set the object's Ready condition and record an event, unless it is already set.

    known: the readable part of the object: metadata and conditions. Raises ApiError or
    TransportError if the condition cannot be written now.
    """
    claimed_by = annotations(known).get(OPERATOR_NAMESPACE)
    # Another operator may be able to read it: only the object's own operator reports
    # it.
    if claimed_by and claimed_by != operator.namespace:
        return
    before = status(known).get("conditions") or []
    ready = ReadyCondition("False", REASON, "Error", message, generation(known))
    wanted = merge_ready(before, ready, operator.clock.now())
    change = merge_patch({"conditions": before}, {"conditions": wanted})
    if change is None:
        return
    body = {"metadata": {"uid": uid_of(known)}, "status": change}
    try:
        operator.client.patch(kind.resource, key_of(known), body, subresource="status")
    except (NotFoundError, InvalidError):
        return  # deleted, or another object has its name
    operator.recorder.event(known, "Warning", REASON, message)
