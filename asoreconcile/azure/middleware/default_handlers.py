"""The last link of each chain: the reconciler's own behaviour, one function per point.

Every point has one, so `call_next` can always be called.
"""

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from asoreconcile.azure.arm import classification, errors, outcomes
from asoreconcile.azure.arm.absence import Absence
from asoreconcile.azure.middleware.extension_points import ExtensionPoint
from asoreconcile.azure.middleware.requests import (
    ClassifyError,
    DeleteRequest,
    DeleteResult,
    Export,
    ExportConfigMaps,
    ExportSecrets,
    Import,
    Imported,
    ImportResult,
    InProgress,
    ModifyPayload,
    PostReconcile,
    PostResult,
    PreReconcile,
    PreReconcileOwner,
    PreResult,
    Proceed,
    Ready,
    ResourceDeleted,
    SecretExport,
    Success,
)
from asoreconcile.base.objects import JsonObject


def _proceed(_: PreReconcile | PreReconcileOwner) -> PreResult:
    return Proceed()


def _unchanged(req: ModifyPayload) -> JsonObject:
    return req.payload


def _classify(req: ClassifyError) -> classification.Classification:
    return classification.classify(req.error)


def _ready(_: PostReconcile) -> PostResult:
    return Ready()


def _no_secrets(_: ExportSecrets) -> SecretExport:
    return SecretExport(uses_status=False)


def _no_config_maps(_: ExportConfigMaps) -> tuple[Export, ...]:
    return ()


def _no_annotations(_: Success) -> Mapping[str, str]:
    return {}


def _as_it_is(req: Import) -> ImportResult:
    return Imported(req.obj)


def delete_resource(req: DeleteRequest) -> DeleteResult:
    """DELETE the resource by one request; a 404 that says so counts as deleted (V3).

    Raises ArmError for any other refusal, ArmTransportError if there is no response.
    """
    ctx = req.ctx
    if req.perform is not None:
        return req.perform()
    try:
        outcome = ctx.arm.delete(ctx.arm_id, ctx.version.api_version)
    except errors.ArmError as refused:
        # Handle a refusal and a failed operation alike: Azure uses both for an absent
        # resource.
        outcome = outcomes.Failed(refused)
    match outcome:
        case outcomes.OperationDone():
            return ResourceDeleted()
        case outcomes.Failed(error=error):
            if error.absence is Absence.SAID:
                return ResourceDeleted()
            raise error
        case outcomes.Pending(token=token, delay_seconds=delay, progress=progress):
            return InProgress(delay, token, progress)
        case outcomes.ReadResource(delay_seconds=delay):
            return InProgress(delay)
        case outcomes.Restart():
            # The operation is lost, and DELETE may be sent repeatedly.
            return InProgress(0.0)


@attrs.frozen
class DefaultHandlers:
    """The innermost function of each point; replace those that need other services."""

    pre_reconcile_owner: Callable[[PreReconcileOwner], PreResult] = _proceed
    pre_reconcile: Callable[[PreReconcile], PreResult] = _proceed
    modify_payload: Callable[[ModifyPayload], JsonObject] = _unchanged
    classify_error: Callable[[ClassifyError], classification.Classification] = _classify
    post_reconcile: Callable[[PostReconcile], PostResult] = _ready
    export_secrets: Callable[[ExportSecrets], SecretExport] = _no_secrets
    export_config_maps: Callable[[ExportConfigMaps], tuple[Export, ...]] = (
        _no_config_maps
    )
    every_success: Callable[[Success], Mapping[str, str]] = _no_annotations
    delete: Callable[[DeleteRequest], DeleteResult] = delete_resource
    import_: Callable[[Import], ImportResult] = _as_it_is

    def of(self, point: ExtensionPoint[Any, Any]) -> Callable[[Any], Any]:
        """Return the innermost function of a point."""
        terminal: Callable[[Any], Any] = getattr(self, _field(point.name))
        return terminal


def _field(point_name: str) -> str:
    # `import` is a keyword in Python.
    return "import_" if point_name == "import" else point_name.replace("-", "_")
