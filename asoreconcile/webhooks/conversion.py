"""Conversion reviews: convert objects between the versions of their kind.

One failure fails the whole batch, because the API server cannot use part of it. Objects
are read and written one by one, because a batch may have 64 MiB. Rule: WH-6.
"""

from collections.abc import Callable, Iterable

from asoreconcile.base import jsontext
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import JsonObject, key_of
from asoreconcile.webhooks.reviews import Review, ReviewError, failure, status

_log = Logger(__name__)

Convert = Callable[[JsonObject, str], JsonObject]
"""Gets its own copy of an object and the requested `group/version`, and returns the
object in that version. The message of an AsoreconcileError is sent to the API server's
client.
"""

API_VERSIONS = frozenset({"apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"})
KIND = "ConversionReview"


class ConversionError(AsoreconcileError):
    """The object cannot be converted to the requested version."""


_BYTES_OF_PIECE = 1 << 16


def respond(
    review: Review,
    objects: Iterable[JsonObject],
    convert: Convert,
    *,
    check: Callable[[], None],
    on_broken: Callable[[], None],
) -> tuple[JsonObject, list[bytes] | None]:
    """Return the response without its objects, and pieces of JSON with all converted
    objects.

    The objects are in the order of the request, separated by commas. If the conversion
    failed, return the error and None.

    check: called before each object; raises ReviewError after the deadline.
    on_broken: called after an unexpected exception of the conversion.
    """
    try:
        desired = review.request.get("desiredAPIVersion")
        if not isinstance(desired, str) or not desired:
            raise ReviewError("the request has no desiredAPIVersion", code=400)
        pieces = _written(_converted(one, desired, convert, check) for one in objects)
    except ReviewError as error:
        return rejected(review.uid, failure(error)), None
    except AsoreconcileError as error:
        return rejected(review.uid, status(400, "BadRequest", str(error))), None
    except BaseException as error:  # noqa: BLE001 - one review's failure stays its own
        _log.exception("Conversion failed unexpectedly")
        # Counted separately: a refusal is a valid response, this is a bug.
        on_broken()
        message = f"the conversion broke: {type(error).__name__}"
        return rejected(review.uid, status(500, "InternalError", message)), None
    succeeded = {"metadata": {}, "status": "Success"}
    return {"uid": review.uid, "result": succeeded}, pieces


def rejected(uid: str, result: JsonObject) -> JsonObject:
    """Return the response for a failed batch."""
    return {"uid": uid, "convertedObjects": [], "result": result}


def _written(objects: Iterable[JsonObject]) -> list[bytes]:
    pieces: list[bytes] = []
    texts: list[bytes] = []
    size = 0
    for obj in objects:
        texts.append(jsontext.dumps(obj))
        size += len(texts[-1])
        if size >= _BYTES_OF_PIECE:
            # A join has an exact size, unlike what orjson returns.
            pieces.append(b",".join(texts))
            texts, size = [], 0
    if texts:
        pieces.append(b",".join(texts))
    return pieces


def _converted(
    obj: JsonObject, desired: str, convert: Convert, check: Callable[[], None]
) -> JsonObject:
    check()
    kind, api_version, key = obj.get("kind"), obj.get("apiVersion"), key_of(obj)
    if api_version == desired:
        message = f"{kind} {key} is of version {desired} already"
        raise ReviewError(message, code=400)
    try:
        result = convert(obj, desired)
    except AsoreconcileError as error:
        message = f"{kind} {key} has no form in {desired}: {error}"
        raise ConversionError(message) from error
    # The API server would refuse the batch without naming the object.
    if result.get("kind") != kind or result.get("apiVersion") != desired:
        stated = f"{result.get('apiVersion')} {result.get('kind')}"
        message = f"{kind} {key} became {stated} and not {desired} {kind}"
        raise ConversionError(message)
    return result
