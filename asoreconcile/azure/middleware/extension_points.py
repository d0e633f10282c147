"""The extension points, each typed by its request and its result."""

from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

import attrs

from asoreconcile.azure.arm.classification import Classification
from asoreconcile.azure.middleware.requests import (
    ClassifyError,
    DeleteRequest,
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
from asoreconcile.base.objects import JsonObject

Req = TypeVar("Req")
Res = TypeVar("Res")


class Middleware(Protocol[Req, Res]):
    """An extension: returns its own result, or calls `call_next` for the next link's.

    Called on several worker threads at once: keep no state outside the context.
    """

    def __call__(self, req: Req, call_next: Callable[[Req], Res], /) -> Res: ...


@attrs.frozen(eq=False)
class ExtensionPoint(Generic[Req, Res]):
    """A place in the reconcile where extensions run; compared by identity.

    next_at_most_once: if true, calling `call_next` twice in one run is an error.
    """

    name: str
    request: type[Req]
    next_at_most_once: bool = True


PRE_RECONCILE_OWNER: ExtensionPoint[PreReconcileOwner, PreResult] = ExtensionPoint(
    "pre-reconcile-owner", PreReconcileOwner
)
PRE_RECONCILE: ExtensionPoint[PreReconcile, PreResult] = ExtensionPoint(
    "pre-reconcile", PreReconcile
)
MODIFY_PAYLOAD: ExtensionPoint[ModifyPayload, JsonObject] = ExtensionPoint(
    "modify-payload", ModifyPayload
)
CLASSIFY_ERROR: ExtensionPoint[ClassifyError, Classification] = ExtensionPoint(
    "classify-error", ClassifyError
)
POST_RECONCILE: ExtensionPoint[PostReconcile, PostResult] = ExtensionPoint(
    "post-reconcile", PostReconcile
)
EXPORT_SECRETS: ExtensionPoint[ExportSecrets, SecretExport] = ExtensionPoint(
    "export-secrets", ExportSecrets
)
EXPORT_CONFIG_MAPS: ExtensionPoint[ExportConfigMaps, tuple[Export, ...]] = (
    ExtensionPoint("export-config-maps", ExportConfigMaps)
)
EVERY_SUCCESS: ExtensionPoint[Success, Mapping[str, str]] = ExtensionPoint(
    "every-success", Success
)
DELETE: ExtensionPoint[DeleteRequest, DeleteResult] = ExtensionPoint(
    "delete", DeleteRequest
)
IMPORT: ExtensionPoint[Import, ImportResult] = ExtensionPoint("import", Import)

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
