"""Admission reviews: validate and mutate writes.

A validating function returns Allowed or Denied. A mutating function returns the changed
object, or None after changing its argument in place. Rules: WH-4, WH-5.
"""

import base64
from collections.abc import Callable, Iterable, Sequence

import attrs
from attrs.validators import deep_iterable, instance_of

from asoreconcile.base import jsontext
from asoreconcile.base.json_problems import EncodeError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupVersionKind, JsonObject, ObjectKey, copy_json
from asoreconcile.kube.errors import ApiError
from asoreconcile.kube.event_encoding import cut
from asoreconcile.kube.json_patch import changes
from asoreconcile.webhooks.metadata_types import check_metadata
from asoreconcile.webhooks.reviews import Review, ReviewError, answered, failure, status

_log = Logger(__name__)

API_VERSIONS = frozenset({"admission.k8s.io/v1", "admission.k8s.io/v1beta1"})
KIND = "AdmissionReview"
_LEAST_CODE, _MOST_CODE = 400, 599


@attrs.frozen
class AdmissionRequest:
    """An admission request.

    operation: CREATE, UPDATE, DELETE or CONNECT. obj: the new object, None on a delete.
    old: the old object, None on a create. The function may change both. dry_run: the
    function must have no side effects. user: `username`, `groups`, `uid`.
    """

    operation: str
    gvk: GroupVersionKind
    key: ObjectKey
    obj: JsonObject | None = attrs.field(repr=False)
    old: JsonObject | None = attrs.field(repr=False)
    subresource: str
    dry_run: bool
    user: JsonObject = attrs.field(repr=False)
    options: JsonObject = attrs.field(repr=False)


def _texts(warnings: str | Iterable[str]) -> tuple[str, ...]:
    # A string is a sequence of its letters.
    return (warnings,) if isinstance(warnings, str) else tuple(warnings)


# The API server cannot read a response with members of other types.
_TEXTS = deep_iterable(instance_of(str))


@attrs.frozen
class Allowed:
    """Allow the request. warnings: one or several texts, shown to the user."""

    warnings: tuple[str, ...] = attrs.field(
        default=(), converter=_texts, validator=_TEXTS
    )


@attrs.frozen
class Denied:
    """Deny the request. message: advice to the user. code, reason: status code and
    reason of the response.
    """

    message: str = attrs.field(validator=instance_of(str))
    code: int = attrs.field(default=403, validator=instance_of(int))
    reason: str = attrs.field(default="Forbidden", validator=instance_of(str))
    warnings: tuple[str, ...] = attrs.field(
        default=(), converter=_texts, validator=_TEXTS
    )

    def __attrs_post_init__(self) -> None:
        # The API server shows another status as an error of the webhook.
        if not _LEAST_CODE <= self.code <= _MOST_CODE:
            raise ValueError(f"code is {self.code}: give an HTTP status, 400 to 599")


Validate = Callable[[AdmissionRequest], Allowed | Denied]
Mutate = Callable[[AdmissionRequest], JsonObject | Denied | None]
"""Returns the mutated object; None means `request.obj`, as changed in place. Not called
on a delete.
"""

Verdict = Allowed | Denied
Decide = Callable[[AdmissionRequest], tuple[Verdict, list[JsonObject]]]
"""Returns the decision about a request, and the JSON Patch to apply."""


def respond(review: Review, decide: Decide, *, on_broken: Callable[[], None]) -> bytes:
    """Return the body of the response to a review.

    decide: made by `validating` or `mutating`. An ApiError it raises becomes the
    response's status. on_broken: called after an unexpected exception.
    """
    try:
        return answered(review.api_version, review.kind, _judged(review, decide))
    except BaseException as error:  # noqa: BLE001 - a review without an answer may be allowed
        # Also SystemExit and the like: on a thread they would end only the connection.
        _log.exception("Admission failed unexpectedly")
        # Counted separately: a denial is a valid response, this is a bug.
        on_broken()
        # The text of an EncodeError has names alone, and others may show secrets.
        shown = f": {error}" if isinstance(error, EncodeError) else ""
        message = f"the webhook broke: {type(error).__name__}{shown}"
        response = refused(review.uid, status(500, "InternalError", message))
        return answered(review.api_version, review.kind, response)


def _judged(review: Review, decide: Decide) -> JsonObject:
    try:
        return _decided(review, decide)
    except (ReviewError, ApiError) as error:
        return refused(review.uid, failure(error))


def _decided(review: Review, decide: Decide) -> JsonObject:
    verdict, patch = decide(_parsed(review.request))
    if isinstance(verdict, Denied):
        result = status(verdict.code, verdict.reason, verdict.message)
        response = refused(review.uid, result)
    else:
        accepted = {"metadata": {}, "code": 200}
        response = {"uid": review.uid, "allowed": True, "status": accepted}
    if verdict.warnings:
        response["warnings"] = [cut(one) for one in verdict.warnings]
    if patch:
        response["patch"] = base64.b64encode(jsontext.dumps(patch)).decode()
        response["patchType"] = "JSONPatch"
    return response


def refused(uid: str, result: JsonObject) -> JsonObject:
    """Return the response that denies the request. result: a metav1 Status."""
    return {"uid": uid, "allowed": False, "status": result}


def validating(chain: Sequence[Validate]) -> Decide:
    """Call the functions in order until one denies; collect their warnings."""

    def decide(request: AdmissionRequest) -> tuple[Verdict, list[JsonObject]]:
        warnings: tuple[str, ...] = ()
        for validate in chain:
            verdict = validate(request)
            warnings += verdict.warnings
            if isinstance(verdict, Denied):
                return attrs.evolve(verdict, warnings=warnings), []
        return Allowed(warnings), []

    return decide


def mutating(chain: Sequence[Mutate]) -> Decide:
    """Call the functions in order, each on the previous result; one patch covers all
    changes.
    """

    def decide(request: AdmissionRequest) -> tuple[Verdict, list[JsonObject]]:
        if request.obj is None or request.operation == "DELETE":
            return Allowed(), []
        # Functions may change the object in place: diff against the original.
        before = copy_json(request.obj)
        after = request.obj
        for mutate in chain:
            answer = mutate(attrs.evolve(request, obj=after))
            if isinstance(answer, Denied):
                return answer, []
            if answer is not None:
                after = _checked(answer)
        # Refuses what JSON does not have: of the patch, the error would name no field.
        jsontext.dumps(after)
        return Allowed(), changes(before, after)

    return decide


def _checked(answer: object) -> JsonObject:
    """Check that a webhook's answer is an object. Raises TypeError for another value,
    because a patch to it would replace the whole object.
    """
    if not isinstance(answer, dict):
        raise TypeError(f"a mutating function answered {type(answer).__name__}")
    return answer


def _parsed(request: JsonObject) -> AdmissionRequest:
    """Parse an admission review. Raises ReviewError."""
    kind = request.get("kind")
    operation = request.get("operation")
    if not isinstance(kind, dict) or not isinstance(operation, str):
        raise ReviewError("the request has no kind or no operation", code=400)
    obj, old = request.get("object"), request.get("oldObject")
    for place, value in (("object", obj), ("oldObject", old)):
        if value is None:
            continue
        if not isinstance(value, dict):
            raise ReviewError("the request's object is no object", code=400)
        check_metadata(value, place)
    if obj is None and operation in ("CREATE", "UPDATE"):
        raise ReviewError("the request has no object", code=400)
    gvk = GroupVersionKind(
        str(kind.get("group") or ""),
        str(kind.get("version") or ""),
        str(kind.get("kind") or ""),
    )
    name, namespace = request.get("name"), request.get("namespace")
    return AdmissionRequest(
        operation=operation,
        gvk=gvk,
        key=ObjectKey(str(namespace or ""), str(name or "")),
        obj=obj,
        old=old,
        subresource=str(request.get("subResource") or ""),
        dry_run=bool(request.get("dryRun")),
        user=request.get("userInfo") or {},
        options=request.get("options") or {},
    )
