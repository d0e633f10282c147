"""A reconcile's reads of its resource, and of lists. Blocking."""

from collections.abc import Callable, Iterable

from asoreconcile.azure.arm.absence import Absence
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.middleware.context import ReconcileContext, ResourceRead
from asoreconcile.base.objects import JsonObject

ListReader = Callable[[str, str], Iterable[JsonObject]]
"""A list's path and an api-version -> its entries. Raises ArmError."""


def listed_ids(read: ListReader, path: str, api_version: str) -> list[str]:
    """Return the ids in a list; [] if Azure says that its group or parent is gone.

    Raises ArmError for any other refusal, also a 404 whose code is not known.
    """
    try:
        return [str(one.get("id") or "") for one in read(path, api_version)]
    except ArmError as error:
        if error.absence is Absence.CERTAIN:
            return []
        raise


def observed_status(
    context: ReconcileContext, body: JsonObject | None
) -> JsonObject | None:
    """Return the status that Azure reports; None if the resource does not exist.

    body: the resource, if it has just been read. Raises ArmError, ArmTransportError.
    """
    client, arm_id, version = context.arm, context.arm_id, context.version
    if "Get" not in version.operations:
        # Azure offers only HEAD for the kind: there is no status to show (V4).
        return {} if client.head(arm_id, version.api_version) else None
    context.read = None if body is None else ResourceRead(body)
    found = context.raw_get()
    return None if found is None else status_of(version, found)
