"""Decides what a failed read means for an import. Pure."""

from asoreconcile.azure.arm.bearer import ForeignHostError
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.middleware.chain import ExtensionFailedError
from asoreconcile.azure.reconcile.planning.resource_import.report import ImportStatus

READ_FAILURES = (ArmError, ArmTransportError, ExtensionFailedError, ForeignHostError)
# A list of a type that the place does not have: nothing is missing.
_NO_SUCH_LIST = frozenset(
    {
        "BadRequest",
        "NoRegisteredProviderFound",
        "RequestUrlInvalid",
        "ResourceTypeNotSupported",
        "UnsupportedFeature",
        "UnsupportedResourceType",
        "ValidationFailed",
    }
)


def of_resource(error: Exception, *, expected: bool) -> tuple[ImportStatus, str]:
    """Return status and reason of a resource that could not be read.

    expected: whether the resource must exist.
    """
    if isinstance(error, ArmError) and error.is_not_found:
        return ("failed" if expected else "skipped"), "the resource does not exist"
    return "failed", _reason(error)


def of_list(error: Exception) -> str:
    """Return why a list failed, or "" if the resource has no such list."""
    if isinstance(error, ArmError):
        codes = (error.code, *error.codes)
        if error.is_not_found or (
            error.status == 400 and not _NO_SUCH_LIST.isdisjoint(codes)
        ):
            return ""
    return f"cannot be listed: {_reason(error)}"


def _reason(error: Exception) -> str:
    if isinstance(error, ArmError):
        if error.status == 403:
            return f"access is forbidden ({error.code})"
        return f"{error.status} {error.code}: {error.message}"
    return str(error)
