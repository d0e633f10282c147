"""Turns ARM failures into conditions: classified, complete in the log, short in
Ready.
"""

from collections.abc import Callable
from http.client import responses
from typing import Literal

import attrs

from asoreconcile.azure.arm.classification import (
    Classification,
    classify,
    condition_reason,
)
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass, Severity
from asoreconcile.azure.arm.error_body import NO_MESSAGE
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm.management_locks import (
    LOCKED_SECONDS,
    is_locked,
    lock_names,
)
from asoreconcile.azure.arm.outcomes import Restart
from asoreconcile.azure.catalogue.inputs import inputs_of, secret_texts
from asoreconcile.azure.middleware.chain import ExtensionFailedError, Extensions
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.requests import ClassifyError
from asoreconcile.azure.reconcile.model.export_targets import destinations, shown_values
from asoreconcile.azure.reconcile.model.policy import LET_GO
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.scope.references import ReferenceResolver
from asoreconcile.base.errors import RetryError
from asoreconcile.base.log import Logger, Untruncated
from asoreconcile.base.objects import is_deleting, spec

# The delay before a lost operation is started again: Azure may lose the next one too.
_LOST_SECONDS = 5.0
_Action = Literal["CreateOrUpdate", "Delete", "Read"]


@attrs.frozen
class ErrorConditions:
    """Makes conditions of the failures of ARM in one reconcile. Blocking: reads the
    Secrets that Azure may quote.

    patcher: the object's working copy. references: resolver of the values that the spec
    refers to. client: returns the client of ARM that has failed.
    """

    patcher: PatchHelper
    references: ReferenceResolver
    log: Logger
    extensions: Extensions
    client: Callable[[], ArmClient]

    def put_failed(self, error: ArmError) -> ConditionError:
        """Return the condition of a refused PUT or a failed operation; its severity may
        be Error.
        """
        return self._classified(error, action="CreateOrUpdate", worst="Error")

    def delete_failed(self, error: ArmError) -> ConditionError:
        """Return the condition of a refused DELETE.

        It is never worse than a Warning, because no edit of the spec would help (R4.5).
        It is retried sooner than a refused PUT, because most refusals end once another
        resource is deleted (DE2). If the refusal may last for ever, the condition of a
        deleted object names the way out.
        """
        # "Conflict" alone does not say that the resource is busy.
        is_passing = error.is_transient or (
            error.is_busy_object and error.code != "Conflict"
        )
        if is_deleting(self.patcher.obj) and not is_passing:
            self.patcher.add_remark(LET_GO)
        failed = self._classified(error, action="Delete", worst="Warning")
        if failed.retry is RetryClass.VERY_SLOW:
            failed.retry = RetryClass.SLOW
        return failed

    def monitor_refused(
        self,
        error: ArmError,
        unread: ArmError | ArmTransportError | RetryError | None = None,
    ) -> ConditionError:
        """Return the condition of an operation whose monitor refuses polls (L16).

        The refusal says nothing about the spec, so the condition is a Warning, and is
        retried soon.

        unread: the error of a read of the resource, if that failed, too; its retry may
        be slower.
        """
        failed = self.read_failed(error)
        text = f"Azure refuses to tell of the running operation: {failed}"
        failed = failed.reworded(text)
        if failed.retry is RetryClass.VERY_SLOW:
            failed.retry = RetryClass.SLOW
        failed.after_seconds = max(failed.after_seconds, _after(unread))
        return failed

    def operation_lost(self, lost: Restart) -> ConditionError:
        """Return the condition of an operation of which Azure has no trace (L16).

        The write is sent again, with a growing delay.
        """
        retry = f"{lost.reason}, so it is sent again"
        if lost.error is None:
            text, reason = "Azure has lost the operation", "OperationLost"
            return ConditionError(
                f"{text}: {retry}", reason=reason, after_seconds=_LOST_SECONDS
            )
        refused = self.monitor_refused(lost.error)
        failed = refused.reworded(f"{refused}; {retry}")
        failed.after_seconds = max(refused.after_seconds, _LOST_SECONDS)
        return failed

    def read_failed(self, error: ArmError) -> ConditionError:
        """Return the condition of a refused read or action; its severity is never worse
        than Warning.
        """
        return self._classified(error, action="Read", worst="Warning")

    def unreachable(self, error: ArmTransportError) -> ConditionError:
        """Return the condition of a request that got no answer from Azure."""
        self.log.warning(
            "Azure did not answer",
            reason=str(error),
            correlationId=error.correlation_id,
            clientRequestId=error.client_request_id,
        )
        found = classify(error)
        return ConditionError(
            f"Azure did not answer, so it is asked again: {found.message}",
            reason=condition_reason(found.code),
            severity=found.severity,
            retry=found.retry,
            cause=error,
        )

    def _know_secrets(self) -> None:
        """Register the Secrets whose values Azure may quote: those the object reads or
        exports.
        """
        obj, references = self.patcher.obj, self.references
        version = self.patcher.version
        references.know_secrets(inputs_of(version, spec(obj)))
        for text in secret_texts(version, spec(obj)):
            references.secret(text.value)
        exported = [
            name for kind, name in sorted(destinations(obj)) if kind == "Secret"
        ]
        references.know_exports(exported, shown_values(obj) if exported else ())

    def _classified(
        self, error: ArmError, *, action: _Action, worst: Severity
    ) -> ConditionError:
        # First: Azure may quote secrets that it was sent, and the line below logs its
        # message.
        patcher = self.patcher
        arm_id = patcher.arm_id
        self._know_secrets()
        text = f"Error during {action}"
        self.log.error(
            text,
            action=action,
            armId=arm_id,
            azureName=arm_id.rpartition("/")[2],
            requestId=error.request_id,
            correlationId=error.correlation_id,
            clientRequestId=error.client_request_id,
            armError=Untruncated(describe(error)),
        )
        found = self._classification(error)
        severity = found.severity if worst == "Error" else "Warning"
        if is_locked(error):
            return self._locked(error)
        return ConditionError(
            _message_of(found.message, error),
            reason=condition_reason(found.code),
            severity=severity,
            retry=found.retry,
            after_seconds=found.after_seconds,
            cause=error,
        )

    def _locked(self, error: ArmError) -> ConditionError:
        """Return the condition of a request that a management lock forbids.

        The spec is not wrong, and only a person can remove the lock, so the next try is
        some minutes away.
        """
        names = lock_names(error, self.client())
        return ConditionError(
            f"{names or 'a management lock'} in Azure forbids the request; it is sent "
            f"again every few minutes, and succeeds once the lock is removed: "
            f"{error.message}",
            reason=condition_reason(error.code),
            after_seconds=LOCKED_SECONDS,
            cause=error,
        )

    def _classification(self, error: ArmError) -> Classification:
        version = self.patcher.version
        chain = self.extensions.chain(CLASSIFY_ERROR, version.group_kind)
        try:
            return chain(ClassifyError(version=version, error=error))
        # The error of Azure must be shown all the same.
        except (ConditionError, ExtensionFailedError) as failed:
            self.log.exception("Extension failed", reason=str(failed))
            found = classify(error)
            return attrs.evolve(found, message=f"{found.message} ({failed})")


def _after(error: Exception | None) -> float:
    match error:
        case RetryError(after_seconds=after):
            return after
        case ArmError(retry_after_seconds=float(after)):
            return after
        case _:
            return 0.0


def _message_of(message: str, error: ArmError) -> str:
    """Return Azure's message, or a description of the answer if it has no message."""
    answered = f"Azure answered {_status_of(error)}"
    if message == NO_MESSAGE:
        return f"{message}: {answered} and said no more"
    if not error.understood and error.body:
        return f"{answered}, not as its API does: {message}"
    return message


def describe(error: ArmError) -> str:
    """Return the complete error, over several lines, for the log."""
    return "\n".join(
        (
            f"{error.method} {error.url}",
            f"RESPONSE {error.status}: {_status_of(error)}",
            f"ERROR CODE: {error.code}",
            error.body,
        )
    )


def _status_of(error: ArmError) -> str:
    return f"{error.status} {responses.get(error.status, '')}".rstrip()
