"""The extension points, each typed by what goes in and what comes out."""

from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

import attrs

from asoreconcile.arm.classification import Classification
from asoreconcile.middleware.requests import (
    ClassifyError,
    Delete,
    DeleteResult,
    Export,
    ExportConfigMaps,
    ExportSecrets,
    Import,
    ImportResult,
    ModifyPayload,
    PostReconcile,
    PostResult,
    PreReconcile,
    PreReconcileOwner,
    PreResult,
    SecretExport,
    Success,
)
from asoreconcile.objects import JsonObject

Req = TypeVar("Req")
Res = TypeVar("Res")


class Middleware(Protocol[Req, Res]):
    """An extension: answers itself, or asks the next link by calling `call_next`.

    Called on worker threads, several at once: keep no state outside the context.
    """

    def __call__(self, req: Req, call_next: Callable[[Req], Res], /) -> Res: ...


@attrs.frozen(eq=False)
class Point(Generic[Req, Res]):
    """A place in the reconcile where extensions run; compared by identity.

    next_at_most_once: whether calling `call_next` twice in one run is a fault.
    """

    name: str
    request: type[Req]
    next_at_most_once: bool = True


PRE_RECONCILE_OWNER: Point[PreReconcileOwner, PreResult] = Point(
    "pre-reconcile-owner", PreReconcileOwner
)
PRE_RECONCILE: Point[PreReconcile, PreResult] = Point("pre-reconcile", PreReconcile)
MODIFY_PAYLOAD: Point[ModifyPayload, JsonObject] = Point(
    "modify-payload", ModifyPayload
)
CLASSIFY_ERROR: Point[ClassifyError, Classification] = Point(
    "classify-error", ClassifyError
)
POST_RECONCILE: Point[PostReconcile, PostResult] = Point(
    "post-reconcile", PostReconcile
)
EXPORT_SECRETS: Point[ExportSecrets, SecretExport] = Point(
    "export-secrets", ExportSecrets
)
EXPORT_CONFIG_MAPS: Point[ExportConfigMaps, tuple[Export, ...]] = Point(
    "export-config-maps", ExportConfigMaps
)
EVERY_SUCCESS: Point[Success, Mapping[str, str]] = Point("every-success", Success)
DELETE: Point[Delete, DeleteResult] = Point("delete", Delete)
IMPORT: Point[Import, ImportResult] = Point("import", Import)

POINTS = (
    PRE_RECONCILE_OWNER,
    PRE_RECONCILE,
    MODIFY_PAYLOAD,
    CLASSIFY_ERROR,
    POST_RECONCILE,
    EXPORT_SECRETS,
    EXPORT_CONFIG_MAPS,
    EVERY_SUCCESS,
    DELETE,
    IMPORT,
)
