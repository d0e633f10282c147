"""Build extensions that exclude existing resources from an import."""

from collections.abc import Callable

from asoreconcile.azure.middleware.extension_points import Middleware
from asoreconcile.azure.middleware.preconditions import named
from asoreconcile.azure.middleware.requests import (
    Import,
    Imported,
    ImportResult,
    Skipped,
)
from asoreconcile.base.objects import JsonObject


def skip_import_if(
    reason: str,
    when: Callable[[JsonObject, str], bool],
    *,
    before_reading: bool = False,
) -> Middleware[Import, ImportResult]:
    """Return an importer that leaves some resources out.

    reason: a clause, such as "is built in".
    when: called with the object and its owner's ARM id.
    before_reading: if true, the name alone decides, which saves the request.
    """

    def decide(
        req: Import, call_next: Callable[[Import], ImportResult], /
    ) -> ImportResult:
        if before_reading and when(req.obj, req.owner_id):
            return Skipped(reason)
        result = call_next(req)
        if (
            not before_reading
            and isinstance(result, Imported)
            and when(result.obj, req.owner_id)
        ):
            return Skipped(reason)
        return result

    return named(decide, f"skip_import_if({reason!r})")
