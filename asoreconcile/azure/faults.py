"""ARM failures as the user sees them: classified, whole in the log, short in Ready."""

from typing import Literal

from asoreconcile.arm.faults import ArmError, ArmTransportError
from asoreconcile.azure.work import Work
from asoreconcile.errors import ConditionError, Severity
from asoreconcile.middleware.points import CLASSIFY_ERROR
from asoreconcile.middleware.requests import ClassifyError

_TRANSIENT = frozenset({408, 429})
_Action = Literal["CreateOrUpdate", "Delete", "Read"]
_MESSAGES: dict[_Action, str] = {
    "CreateOrUpdate": "Error during CreateOrUpdate",
    "Delete": "Error during Delete",
    "Read": "Error during Read",
}


def is_transient(error: ArmError) -> bool:
    """Whether a failed read says nothing about the resource. Rules: D3, L15."""
    return error.status in _TRANSIENT or error.status >= 500


def put_failed(work: Work, error: ArmError) -> ConditionError:
    """A refused PUT, or an operation that failed: may be severity Error."""
    return _classified(work, error, action="CreateOrUpdate", worst="Error")


def delete_failed(work: Work, error: ArmError) -> ConditionError:
    """A refused DELETE: never worse than Warning, nobody can edit it away (R4.5)."""
    return _classified(work, error, action="Delete", worst="Warning")


def read_failed(work: Work, error: ArmError) -> ConditionError:
    """A refused read or action: never worse than Warning (extensions 4.2)."""
    return _classified(work, error, action="Read", worst="Warning")


def unreachable(work: Work, error: ArmTransportError) -> ConditionError:
    """No answer from Azure, or none that is one."""
    work.log.warning("Azure did not answer", reason=str(error))
    return ConditionError(
        f"Azure could not be reached ({error}); it is tried again",
        reason="UnknownError",
    )


def _classified(
    work: Work, error: ArmError, *, action: _Action, worst: Severity
) -> ConditionError:
    work.log.error(
        _MESSAGES[action],
        action=action,
        armId=work.arm_id,
        azureName=work.arm_id.rpartition("/")[2],
        armError=error.describe(),
    )
    classify = work.operator.extensions.chain(CLASSIFY_ERROR, work.kind.group_kind)
    found = classify(ClassifyError(version=work.version, error=error))
    severity = found.severity if worst == "Error" else "Warning"
    return ConditionError(
        found.message,
        reason=found.code,
        severity=severity,
        retry=found.retry,
        after_seconds=error.retry_after_seconds or 0.0,
    )
