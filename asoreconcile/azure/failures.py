"""What a pass that failed shows: a Ready condition and an event (3c, R7.3).

Most failures are born as a ConditionError; what others become is decided here, once.
"""

from asoreconcile.arm.faults import ArmError, ArmTransportError
from asoreconcile.azure.faults import read_failed, unreachable
from asoreconcile.azure.work import Work
from asoreconcile.catalogue.conversion import ConversionError
from asoreconcile.catalogue.paths import PathError
from asoreconcile.catalogue.payload import SpecError
from asoreconcile.errors import ConditionError
from asoreconcile.kube.errors import ApiError, TransportError
from asoreconcile.runtime.outcome import in_chain

# The API refuses events over 1,024 characters; the id at the end is what support asks
# for first, so it is the message that is cut.
_MAX_EVENT = 900
# The verdicts of the Kubernetes API that a person has to know; any other is trouble of
# the moment, or a race that the next pass wins.
_VERDICTS = frozenset({400, 403, 405, 413, 422})


def failure_of(work: Work, error: Exception) -> ConditionError | None:
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
        case _:
            # The caller is handling it, so that the record has its stack.
            work.log.exception("Pass failed unexpectedly")  # noqa: LOG004
            return ConditionError(
                f"internal error ({type(error).__name__}): see the operator's log",
                reason="Failed",
            )


def event_text(error: ConditionError) -> str:
    """What the event of a failure says: reason, message, and Azure's id of the request,
    if Azure refused one.
    """
    text = f"{error.reason}: {error}"
    fault = in_chain(error, ArmError)
    if fault is None or not fault.correlation_id:
        return text
    if len(text) > _MAX_EVENT:
        text = text[: _MAX_EVENT - 3] + "..."
    return f"{text} (correlation id {fault.correlation_id})"


def _refused(error: ApiError) -> ConditionError:
    return ConditionError(
        f"the Kubernetes API refuses what this resource needs: {error}",
        reason="Failed",
    )
