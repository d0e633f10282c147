"""If-Match and If-None-Match: conditional writes of types with ETags (H3)."""

from collections.abc import Mapping

from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.refusals import RefusedError
from asoreconcile.testing.arm.resources import ArmResource
from asoreconcile.testing.arm.style import Style


def check_preconditions(
    headers: Mapping[str, str],
    address: ArmAddress,
    etag: str,
    present: ArmResource | None,
) -> None:
    """Check the conditions of a write. Raises RefusedError 412.

    headers: headers of the request, names in lower case.
    etag: ETag of the resource; "" for a type without ETags, whose conditions are
    ignored.
    """
    wanted, unwanted = headers.get("if-match", ""), headers.get("if-none-match", "")
    if present is None:
        failed = bool(wanted)
    else:
        failed = unwanted == "*" or (wanted not in ("", "*") and wanted != etag)
    if failed and (etag or present is None):
        raise RefusedError(
            412,
            "PreconditionFailed",
            f"The condition of the request for '{address.name}' is not met: it was "
            "changed, or it is not there.",
            from_gateway=False,
        )


def check_delete(headers: Mapping[str, str], address: ArmAddress, style: Style) -> None:
    """Require the ETag if the type demands it for a DELETE (DE4).

    Raises RefusedError 400.
    """
    if style.delete_needs_match and not headers.get("if-match"):
        raise RefusedError(
            400,
            "ValidationError",
            f"Deleting '{address.name}' needs the header If-Match.",
            from_gateway=False,
        )
