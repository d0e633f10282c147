"""Typed webhooks: functions that get an object instead of a request.

    def check(site: Website) -> Denied | None: ...
    def check_change(site: Website, old: Website | None) -> Denied | None: ...
    def fill_in(site: Website) -> None: ...

    server.validate(Website, check)
    server.mutate(Website, fill_in)

Rule: WH-10.
"""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, overload

from asoreconcile.base.objects import JsonObject, copy_json, metadata
from asoreconcile.base.signatures import (
    answers_only,
    check_takes,
    hints_of,
    is_of_other,
)
from asoreconcile.resources.typed_kind import HasMetadata, TypedKind, kind_of
from asoreconcile.webhooks.admission import (
    AdmissionRequest,
    Allowed,
    Denied,
    Mutate,
    Validate,
)
from asoreconcile.webhooks.configurations import AdmissionVerb, WebhookRules
from asoreconcile.webhooks.server import WebhookError, WebhookServer, webhook_path

T = TypeVar("T", bound=HasMetadata)

TypedValidate = (
    Callable[[T], Allowed | Denied | None]
    | Callable[[T, T | None], Allowed | Denied | None]
)
"""Validates the new object; None means `Allowed()`. The second argument is the old
object, None on a create.
"""
TypedMutate = (
    Callable[[T], T | Denied | None] | Callable[[T, T | None], T | Denied | None]
)
"""Changes the new object in place, or returns another one. The second argument is as in
`TypedValidate`.
"""

_WRITES = frozenset({"CREATE", "UPDATE"})


class TypedWebhookServer(WebhookServer):
    """`WebhookServer`, also for resource classes. Methods are safe from any thread."""

    @overload
    def validate(
        self, path: str, *chain: Validate, on: WebhookRules | None = None
    ) -> None: ...
    @overload
    def validate(
        self,
        path: type[T],
        *chain: TypedValidate[T] | Validate,
        on: WebhookRules | None = None,
    ) -> None: ...
    def validate(self, path: Any, *chain: Any, on: WebhookRules | None = None) -> None:
        """Register validating functions, called in order. Rules: WH-5, WH-10.

        path: path of the webhook, or a class. For a class, the path is kubebuilder's
        for its kind, and `on` is creates and updates; its functions get objects, or the
        request if their parameter is annotated so. An object that does not fit the
        class is denied. Otherwise as `WebhookServer.validate`. Also raises WebhookError
        for an `on` without an object for the functions, TypeError for functions with
        another class or return type.
        """
        if not isinstance(path, type):
            super().validate(path, *chain, on=on)
            return
        kind: TypedKind[Any] = kind_of(path)
        asked = [_validating(kind, one) for one in chain]
        on = _rules(kind, on, takes_requests=all(map(_takes_request, chain)))
        super().validate(_path("validate", kind), *asked, on=on)

    @overload
    def mutate(
        self, path: str, *chain: Mutate, on: WebhookRules | None = None
    ) -> None: ...
    @overload
    def mutate(
        self,
        path: type[T],
        *chain: TypedMutate[T] | Mutate,
        on: WebhookRules | None = None,
    ) -> None: ...
    def mutate(self, path: Any, *chain: Any, on: WebhookRules | None = None) -> None:
        """Register mutating functions, called in order. Rules: WH-5, WH-10.

        path: see `validate`. Fields that the class does not define are not changed.
        """
        if not isinstance(path, type):
            super().mutate(path, *chain, on=on)
            return
        kind: TypedKind[Any] = kind_of(path)
        asked = [_mutating(kind, one) for one in chain]
        on = _rules(kind, on, takes_requests=all(map(_takes_request, chain)))
        super().mutate(_path("mutate", kind), *asked, on=on)


def _path(verb: AdmissionVerb, kind: TypedKind[Any]) -> str:
    return webhook_path(verb, kind.resource.gvk)


def _rules(
    kind: TypedKind[Any], on: WebhookRules | None, *, takes_requests: bool
) -> WebhookRules:
    """Return the rules of the webhook. Raises WebhookError."""
    if on is None:
        return WebhookRules(kind.resource)
    name = kind.cls.__name__
    if on.resources != (kind.resource,):
        raise WebhookError(f"a webhook of {name} is asked about {kind.resource} alone")
    if takes_requests:
        return on
    if not _WRITES.issuperset(on.operations):
        raise WebhookError(
            f"a deleted {name} is no object that would be: annotate the parameter as "
            "AdmissionRequest to be asked about other operations than CREATE and UPDATE"
        )
    if on.subresource not in ("", "status"):
        raise WebhookError(f"{on.subresource} of a {name} is no {name}")
    return on


def _validating(kind: TypedKind[Any], function: Any) -> Validate:
    if _takes_request(function):
        return function  # type: ignore[no-any-return]  # as annotated
    answers = (Allowed, Denied)
    _check(kind, function, answers, what="validating webhook")

    def validate(request: AdmissionRequest) -> Allowed | Denied:
        if request.obj is None:  # a delete, which the rules do not cover
            return Allowed()
        objects = _objects(kind, function, request)
        if not isinstance(objects, list):
            return objects
        answer = _expected(function(*objects), answers)
        return Allowed() if answer is None else answer

    return validate


def _mutating(kind: TypedKind[Any], function: Any) -> Mutate:
    if _takes_request(function):
        return function  # type: ignore[no-any-return]  # as annotated
    answers = (kind.cls, Denied)
    _check(kind, function, answers, what="mutating webhook")

    def mutate(request: AdmissionRequest) -> JsonObject | Denied | None:
        from asoreconcile.resources.unknown_fields import carry_unknown

        objects = _objects(kind, function, request)
        if isinstance(objects, Allowed):
            return None
        if isinstance(objects, Denied):
            return objects
        answer = _expected(function(*objects), answers)
        if isinstance(answer, Denied):
            return answer
        made = kind.encode(objects[0] if answer is None else answer)
        carry_unknown(kind.cls, request.obj or {}, made)
        return made

    return mutate


def _check(
    kind: TypedKind[Any], function: Any, answers: tuple[type, ...], *, what: str
) -> None:
    """Check a function of a webhook. Raises TypeError for one that does not take
    the objects, or answers another.
    """
    arguments = [kind.cls.__name__, *(["old"] if _takes_two(function) else [])]
    check_takes(function, *arguments, what=what)
    takes, said = hints_of(function)
    name = getattr(function, "__qualname__", repr(function)[:80])
    if is_of_other(takes, kind.cls):
        raise TypeError(f"{name} takes {takes.__name__}, and is of {kind.cls.__name__}")
    if not answers_only(said, *answers):
        shown = ", ".join(one.__name__ for one in answers)
        raise TypeError(f"{name} answers {said}: a {what} answers {shown} or None")


def _objects(
    kind: TypedKind[Any], function: Any, request: AdmissionRequest
) -> list[Any] | Allowed | Denied:
    """Return the arguments for a function; a decision if the new object does not fit
    the
    class: it is denied unless the write makes nothing worse.
    """
    from asoreconcile.resources.codec import ObjectDecodeError

    try:
        objects = [kind.decode(copy_json(request.obj or {}))]
    except ObjectDecodeError as error:
        if _is_no_worse(request.obj or {}, request.old):
            return Allowed((str(error),))
        return Denied(str(error), code=422, reason="Invalid")
    if _takes_two(function):
        try:
            old = request.old
            objects.append(None if old is None else kind.decode(copy_json(old)))
        except ObjectDecodeError:
            # The write may mend it: check the new object as if it were created.
            objects.append(None)
    return objects


def _is_no_worse(new: JsonObject, old: JsonObject | None) -> bool:
    """Return whether a write keeps an unfitting object as it was, or lets it be
    deleted.

    Finalizers may be removed, and labels may change.
    """
    if old is None:
        return False
    rest = [
        {name: value for name, value in one.items() if name != "metadata"}
        for one in (new, old)
    ]
    return rest[0] == rest[1] or bool(metadata(new).get("deletionTimestamp"))


def _expected(answer: Any, answers: tuple[type, ...]) -> Any:
    """Raise TypeError: a False would look like a refusal, and let it pass."""
    if answer is not None and not isinstance(answer, answers):
        raise TypeError(f"a function of a webhook answered {type(answer).__name__}")
    return answer


def _takes_two(function: Any) -> bool:
    """Return whether a function must be called with the object and the old one.

    A second parameter with a default is not meant for the old object.
    """
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return True
    except ValueError:  # some in C say nothing of their parameters
        return False
    return False


def _takes_request(function: Any) -> bool:
    return hints_of(function)[0] is AdmissionRequest
