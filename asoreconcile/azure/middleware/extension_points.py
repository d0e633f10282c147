"""The extension points: the request, the result and the rules of each one, and the
reconciler's own step at the end of its chain.
"""

from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

import attrs

from asoreconcile.azure.arm import errors, outcomes
from asoreconcile.azure.arm.absence import Absence
from asoreconcile.azure.arm.classification import Classification, classify
from asoreconcile.azure.middleware.context import ResourceRead
from asoreconcile.azure.middleware.requests import (
    Block,
    ClassifyError,
    DeleteRequest,
    DeleteResult,
    Export,
    ExportConfigMaps,
    ExportSecrets,
    GetRequest,
    Import,
    Imported,
    ImportResult,
    InProgress,
    ModifyPayload,
    NotReady,
    Postpone,
    PostReconcile,
    PostResult,
    PreReconcile,
    PreReconcileOwner,
    PreResult,
    Proceed,
    PutRequest,
    PutResult,
    Ready,
    ResourceDeleted,
    SecretExport,
    Skipped,
    Success,
)
from asoreconcile.base.objects import JsonObject

Req = TypeVar("Req")
Res = TypeVar("Res")
_Extension = TypeVar("_Extension", bound=Callable[..., object])


class Middleware(Protocol[Req, Res]):
    """An extension: returns its own result, or calls `call_next` for the next link's.

    Called on several worker threads at once: keep no state outside the context.
    """

    def __call__(self, req: Req, call_next: Callable[[Req], Res], /) -> Res: ...


def named(run: _Extension, name: str) -> _Extension:
    """Return the same function with the name that lists, logs and metrics show."""
    run.__qualname__ = name
    return run


@attrs.frozen(eq=False)
class ExtensionPoint(Generic[Req, Res]):
    """A place in the reconcile where extensions run; compared by identity.

    end: the reconciler's own step at the end of each chain, for users.
    default: the function that takes this step, if `Extensions.compose` gets no other.
    request: the type of the request. results: the types of which a result must be one.
    alone: the results that a link may return without a result of its next link; any
    other result would let a request through that an inner link may refuse, or would
    drop what the inner links add.
    contents: return what is wrong inside a result of the right type, or "".
    needs_arm: whether only kinds of ARM run the point; users of databases and groups of
    Entra have no body of a PUT, no exports of this kind and no import.
    """

    name: str
    end: str
    default: Callable[[Req], Res]
    request: type[Req]
    results: tuple[type, ...]
    alone: tuple[type, ...] = ()
    contents: Callable[[Any], str] = lambda _: ""
    needs_arm: bool = False

    def problem(self, result: object, *, has_next: bool) -> str:
        """Return the rule that a link's result breaks, or "". Pure.

        has_next: whether the next link has returned a result to this link.
        """
        if not isinstance(result, self.results):
            wanted = " or ".join(one.__name__ for one in self.results)
            return f"returned {_shown(result)} in place of {wanted}"
        if not has_next and not isinstance(result, self.alone):
            kind = type(result).__name__
            return f"returned {kind} without a result of its next link"
        return self.contents(result)


def _shown(result: object) -> str:
    return "None" if result is None else f"a {type(result).__name__}"


def _no_body(result: JsonObject) -> str:
    return "" if result else "returned an empty body"


def _other_exports(result: tuple[object, ...]) -> str:
    others = [one for one in result if not isinstance(one, Export)]
    return f"returned {_shown(others[0])} among its exports" if others else ""


def _other_secrets(result: Any) -> str:
    if not isinstance(result.secrets, tuple):
        return f"returned {_shown(result.secrets)} of secrets in place of tuple"
    return _other_exports(result.secrets) or _no_texts(result.raw)


def _no_texts(result: object) -> str:
    pairs = result.items() if isinstance(result, Mapping) else ((None, None),)
    if all(isinstance(one, str) for pair in pairs for one in pair):
        return ""
    return f"returned {_shown(result)} that is no mapping of strings to strings"


def _no_resource(result: ResourceRead) -> str:
    body: object = result.body
    if body is None:
        is_stated = result.absence is not Absence.NOT
        return "" if is_stated else "returned no resource, and not that it is absent"
    return "" if body and isinstance(body, dict) else "returned no body of a resource"


def _put(req: PutRequest) -> PutResult:
    """PUT the body by one request. Raises ArmError for a refusal, ArmTransportError if
    there is no response.
    """
    if req.send is not None:
        return req.send(req.body)
    ctx = req.ctx
    return ctx.arm.put(ctx.arm_id, ctx.version.api_version, req.body)


def _delete(req: DeleteRequest) -> DeleteResult:
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
            if error.absence is Absence.CERTAIN:
                return ResourceDeleted()
            raise error
        case outcomes.Pending(token=token, delay_seconds=delay, progress=progress):
            return InProgress(delay, token, progress)
        case outcomes.ReadResource(delay_seconds=delay):
            return InProgress(delay)
        case outcomes.Restart():
            # The operation is lost, and DELETE may be sent repeatedly.
            return InProgress(0.0)


_PRE_RESULTS = (Proceed, Block, Postpone)
_PRE_ALONE = (Block, Postpone)

PRE_RECONCILE_OWNER: ExtensionPoint[PreReconcileOwner, PreResult] = ExtensionPoint(
    "pre-reconcile-owner",
    "go on",
    lambda _: Proceed(),
    PreReconcileOwner,
    _PRE_RESULTS,
    _PRE_ALONE,
)
PRE_RECONCILE: ExtensionPoint[PreReconcile, PreResult] = ExtensionPoint(
    "pre-reconcile",
    "go on",
    lambda _: Proceed(),
    PreReconcile,
    _PRE_RESULTS,
    _PRE_ALONE,
)
MODIFY_PAYLOAD: ExtensionPoint[ModifyPayload, JsonObject] = ExtensionPoint(
    "modify-payload",
    "send the body as it is",
    lambda req: req.payload,
    ModifyPayload,
    (dict,),
    contents=_no_body,
    needs_arm=True,
)
GET: ExtensionPoint[GetRequest, ResourceRead] = ExtensionPoint(
    "get",
    "read the resource",
    lambda req: req.ctx.read_resource(),
    GetRequest,
    (ResourceRead,),
    (ResourceRead,),
    contents=_no_resource,
    needs_arm=True,
)
PUT: ExtensionPoint[PutRequest, PutResult] = ExtensionPoint(
    "put",
    "send the PUT",
    _put,
    PutRequest,
    (
        outcomes.OperationDone,
        outcomes.Pending,
        outcomes.Failed,
        outcomes.ReadResource,
        outcomes.Restart,
        Block,
        Postpone,
    ),
    (Block, Postpone),
    needs_arm=True,
)
CLASSIFY_ERROR: ExtensionPoint[ClassifyError, Classification] = ExtensionPoint(
    "classify-error",
    "decide by the error's code",
    lambda req: classify(req.error),
    ClassifyError,
    (Classification,),
    (Classification,),
)
POST_RECONCILE: ExtensionPoint[PostReconcile, PostResult] = ExtensionPoint(
    "post-reconcile",
    "Ready",
    lambda _: Ready(),
    PostReconcile,
    (Ready, NotReady),
    (NotReady,),
)
EXPORT_SECRETS: ExtensionPoint[ExportSecrets, SecretExport] = ExtensionPoint(
    "export-secrets",
    "export nothing more",
    lambda _: SecretExport(uses_status=False),
    ExportSecrets,
    (SecretExport,),
    contents=_other_secrets,
    needs_arm=True,
)
EXPORT_CONFIG_MAPS: ExtensionPoint[ExportConfigMaps, tuple[Export, ...]] = (
    ExtensionPoint(
        "export-config-maps",
        "export nothing more",
        lambda _: (),
        ExportConfigMaps,
        (tuple,),
        contents=_other_exports,
        needs_arm=True,
    )
)
EVERY_SUCCESS: ExtensionPoint[Success, Mapping[str, str]] = ExtensionPoint(
    "every-success",
    "set no annotation",
    lambda _: {},
    Success,
    (Mapping,),
    contents=_no_texts,
)
DELETE: ExtensionPoint[DeleteRequest, DeleteResult] = ExtensionPoint(
    "delete",
    "delete the resource",
    _delete,
    DeleteRequest,
    (ResourceDeleted, InProgress),
    (InProgress,),
)
IMPORT: ExtensionPoint[Import, ImportResult] = ExtensionPoint(
    "import",
    "take the resource as it is",
    lambda req: Imported(req.obj),
    Import,
    (Imported, Skipped),
    (Skipped,),
    needs_arm=True,
)

POINTS = (
    PRE_RECONCILE_OWNER,
    PRE_RECONCILE,
    GET,
    MODIFY_PAYLOAD,
    PUT,
    CLASSIFY_ERROR,
    POST_RECONCILE,
    EXPORT_SECRETS,
    EXPORT_CONFIG_MAPS,
    EVERY_SUCCESS,
    DELETE,
    IMPORT,
)
