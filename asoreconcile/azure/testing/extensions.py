"""A test kit for extensions: a reconcile without a cluster, and a table of Azure's
answers.

arm = FakeArm().on("POST", "/listKeys", "2024-01-01", {"primaryKey": "k"})
req = ExportSecrets(fake_ctx(arm=arm), obj)
assert export(req, returns(SecretExport())) == ...
assert arm.sent == [("POST", f"{ARM_ID}/listKeys", "2024-01-01")]
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any, NoReturn, TypeVar, cast

import attrs

from asoreconcile.azure.arm import outcomes
from asoreconcile.azure.arm.errors import ArmError, parse_fault
from asoreconcile.azure.arm.response import ArmResponse
from asoreconcile.azure.arm.tokens import Token
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.middleware.chain import (
    ExtensionFailedError,
    Extensions,
    linked,
)
from asoreconcile.azure.middleware.context import (
    MemoryOperations,
    OperationStore,
    ReconcileContext,
    SuboperationPending,
)
from asoreconcile.azure.middleware.extension_set import (
    ANY_ARM_KIND,
    ANY_KIND,
    Extension,
    ExtensionSet,
)
from asoreconcile.azure.middleware.requests import (
    ClassifyError,
    ModifyPayload,
    PreReconcileOwner,
    PutRequest,
)
from asoreconcile.base import jsontext
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import (
    GroupKind,
    GroupVersionKind,
    JsonObject,
    ObjectKey,
    copy_json,
    gvk_of,
    key_of,
)
from asoreconcile.testing.clock import FakeClock

SUBSCRIPTION = "00000000-0000-0000-0000-000000000001"
ARM_ID = (
    f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg"
    "/providers/Microsoft.Sample/things/thing"
)

Res = TypeVar("Res")
_NO_HEADERS: Mapping[str, str] = {}


def returns(result: Res) -> Callable[[Any], Res]:
    """Return a `call_next` that returns a value."""
    return lambda _: result


def raises(error: Exception) -> Callable[[Any], NoReturn]:
    """Return a `call_next` that raises an error, such as one of `arm_fault`."""

    def call_next(_: Any) -> NoReturn:
        raise error

    return call_next


def fails_if_called(request: object) -> NoReturn:
    """Fail the test. Pass it as the `call_next` of extensions that must not call it."""
    raise AssertionError(f"the next link was called with {type(request).__name__}")


def arm_fault(status: int, code: str, message: str = "") -> ArmError:
    """Return the error that the ARM client raises for such a response."""
    content = jsontext.dumps({"error": {"code": code, "message": message or code}})
    return parse_fault(ArmResponse(status, {}, content))


class FakeArm:
    """A fake of Azure: its responses by method, end of the path, and api-version.

    If a request is registered several times, its responses are used in order, and the
    last one is repeated. A request that is not registered is an AssertionError, or 404
    for reads if `unknown` is "404".

    sent: requests as (method, path, api-version), in order.
    bodies: bodies of these requests.
    options: query and headers of each DELETE.
    progress: progress that was passed to each POLL.
    """

    def __init__(self, *, unknown: str = "fail") -> None:
        self.sent: list[tuple[str, str, str]] = []
        self.bodies: list[JsonObject] = []
        self.options: list[JsonObject] = []
        self.progress: list[outcomes.Progress] = []
        self._unknown = unknown
        self._answers: dict[tuple[str, str, str], list[Any]] = {}

    def on(
        self, method: str, path_suffix: str, api_version: str, answer: Any
    ) -> "FakeArm":
        """Register a response; return self.

        method: GET, PUT, POST, DELETE or LIST; or POLL with the token's URL as the path
        and "" as the version.
        answer: a body, an `arm.outcomes` outcome, an exception to raise, or for LIST a
        list of items.
        """
        key = (method, path_suffix, api_version)
        self._answers.setdefault(key, []).append(answer)
        return self

    def get(self, arm_id: str, api_version: str, /) -> JsonObject:
        """Return a copy of the registered body.

        Raises the registered error, or the one for unknown requests.
        """
        body: JsonObject = copy_json(self._answer("GET", arm_id, api_version))
        return body

    def head(self, arm_id: str, api_version: str, /) -> bool:
        """Return whether the registered HEAD succeeds: False for a 404.

        Raises other registered errors.
        """
        try:
            self._answer("HEAD", arm_id, api_version)
        except ArmError as error:
            if error.status == 404:
                return False
            raise
        return True

    def put(
        self, arm_id: str, api_version: str, body: JsonObject, /
    ) -> outcomes.ArmOutcome:
        """Return the registered outcome. The body is recorded in `bodies`."""
        self.bodies.append(body)
        return self._outcome("PUT", arm_id, api_version)

    def delete(
        self,
        arm_id: str,
        api_version: str,
        /,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> outcomes.ArmOutcome:
        """Return the registered outcome. Query and headers are recorded in
        `options`.
        """
        self.options.append({"query": dict(query or {}), "headers": dict(headers)})
        return self._outcome("DELETE", arm_id, api_version)

    def post(
        self,
        arm_id_with_action: str,
        api_version: str,
        body: JsonObject | None = None,
        /,
    ) -> outcomes.ArmOutcome:
        """Return the registered outcome. The body, if there is one, is recorded in
        `bodies`.
        """
        if body is not None:
            self.bodies.append(body)
        return self._outcome("POST", arm_id_with_action, api_version)

    def list(
        self,
        path: str,
        api_version: str,
        /,
        *,
        query: Mapping[str, str] | None = None,
    ) -> Iterator[JsonObject]:
        """Yield the items of the registered list. The query is ignored."""
        del query
        return iter(copy_json(self._answer("LIST", path, api_version)))

    def poll(
        self, token: Token, progress: outcomes.Progress = outcomes.NO_PROGRESS, /
    ) -> outcomes.ArmOutcome:
        """Return the outcome registered for POLL of the token's URL; record the
        progress.
        """
        self.progress.append(progress)
        return self._outcome("POLL", token.url, "")

    def _outcome(self, method: str, path: str, api_version: str) -> outcomes.ArmOutcome:
        answer = self._answer(method, path, api_version)
        if isinstance(answer, outcomes.ArmOutcome):
            return answer
        return outcomes.OperationDone(copy_json(answer))

    def _answer(self, method: str, path: str, api_version: str) -> Any:
        self.sent.append((method, path, api_version))
        for (known, suffix, version), queue in self._answers.items():
            if (known, version) == (method, api_version) and path.endswith(suffix):
                answer = queue.pop(0) if len(queue) > 1 else queue[0]
                if isinstance(answer, Exception):
                    raise answer
                return answer
        if self._unknown == "404":
            if method == "LIST":
                return []
            raise arm_fault(404, "ResourceNotFound")
        raise AssertionError(f"unexpected request: {method} {path} ({api_version})")


class FakeObjects:
    """A cluster with the given objects, found by kind and key; owners by
    `spec.owner`.
    """

    def __init__(self, objects: Iterable[JsonObject] = ()) -> None:
        self._objects = {(gvk_of(o).group_kind, key_of(o)): o for o in objects}

    def get(self, group_kind: GroupKind, key: ObjectKey, /) -> JsonObject | None:
        """Return the given object, not a copy, or None."""
        return self._objects.get((group_kind, key))

    def owner_of(self, obj: JsonObject, /) -> JsonObject | None:
        """Return the object in the same namespace that `spec.owner.name` names, or
        None.

        The owner may have any kind.
        """
        name = ((obj.get("spec") or {}).get("owner") or {}).get("name")
        here = key_of(obj).namespace
        for (_, key), owner in self._objects.items():
            if key == ObjectKey(here, name or ""):
                return owner
        return None


@attrs.frozen
class FakeVersion:
    """The part of a `KindVersion` that extensions read."""

    gvk: GroupVersionKind
    api_version: str
    arm_type: str = "Microsoft.Sample/things"

    @property
    def group_kind(self) -> GroupKind:
        """Return the kind without its version, as extensions look up other kinds."""
        return self.gvk.group_kind


_UNREAD: JsonObject = {}


def fake_version(
    api_version: str = "2024-01-01", kind: GroupKind | None = None
) -> KindVersion:
    """Return a fake catalogue entry, at an ARM api-version."""
    gk = kind or GroupKind("sample.azure.com", "Thing")
    gvk = GroupVersionKind(gk.group, "v" + api_version.replace("-", ""), gk.kind)
    return cast("KindVersion", FakeVersion(gvk, api_version))


def fake_ctx(
    version: KindVersion | None = None,
    *,
    arm: FakeArm | None = None,
    arm_id: str = ARM_ID,
    raw: JsonObject | None = _UNREAD,
    objects: Iterable[JsonObject] = (),
    clock: FakeClock | None = None,
    operations: OperationStore | None = None,
    polls: MutableMapping[str, outcomes.PollState] | None = None,
    events: list[tuple[str, str, str]] | None = None,
) -> ReconcileContext:
    """Return the context of a reconcile of one object.

    raw: result of `raw_get`; None means that Azure has no such resource. Without `raw`,
    `arm` is asked.
    operations: pass the same one to two contexts to test a reconcile that resumes after
    a restart. Pass the same polls, too, to test one that resumes without a restart.
    events: receives the events that are recorded, as (type, reason, message).
    """

    def event(type_: str, reason: str, message: str) -> None:
        if events is not None:
            events.append((type_, reason, message))

    ctx = ReconcileContext(
        version=version or fake_version(),
        arm=arm or FakeArm(),
        arm_id=arm_id,
        subscription_id=SUBSCRIPTION,
        objects=FakeObjects(objects),
        log=Logger("asoreconcile.azure.testing.extensions"),
        clock=clock or FakeClock(),
        operations=operations or MemoryOperations(),
        polls={} if polls is None else polls,
        event=event,
    )
    if raw is not _UNREAD:
        ctx.observed(raw)
    return ctx


def check_extension_set(
    extension_set: ExtensionSet,
    *,
    kinds: Iterable[GroupKind],
    samples: Iterable[JsonObject] = (),
) -> None:
    """Check the rules for every extension set; for third-party tests.

    The kinds of the set must exist, and its links must differ. Each link is tried with
    an empty object and with each sample of its kind, and in front of three next links:
    the default, one that raises an error of Azure, and one that waits. In each case a
    link must return a result of its point, call the next link at most once, not return
    a result that lets a request through without one of the next link, and leave its
    request as it is.

    kinds: kinds of the catalogue. samples: objects; those that make an extension act.

    Raises AssertionError, or ExtensionError for a set that the operator would not load.
    """
    known = frozenset(kinds)
    Extensions.compose([extension_set], kinds=known)
    links = extension_set.freeze()
    for link in links:
        twins = [
            one
            for one in links
            if (one.point, one.kind, one.name) == (link.point, link.kind, link.name)
        ]
        assert len(twins) == 1, f"{link.name} is registered twice for {link.kind}"
    crs = list(samples)
    for link in links:
        is_any = link.kind in (ANY_ARM_KIND, ANY_KIND)
        kind = min(known) if is_any else link.kind
        mine = [cr for cr in crs if is_any or gvk_of(cr).group_kind == kind]
        for cr in ({"metadata": {"name": "sample"}}, *mine):
            for inner in (link.point.default, _refused, _waits):
                _try(link, extension_set.name, kind, cr, inner)


def _refused(_: object) -> NoReturn:
    raise arm_fault(500, "InternalServerError")


def _waits(_: object) -> NoReturn:
    raise SuboperationPending("sample", after_seconds=1.0)


def _try(
    link: Extension,
    set_name: str,
    kind: GroupKind,
    cr: JsonObject,
    inner: Callable[[Any], Any],
) -> None:
    request = _request(link, kind, copy_json(cr))
    before = _content(request)
    try:
        linked(link, set_name, inner)(request)
    except ExtensionFailedError as failed:
        raise AssertionError(str(failed)) from failed
    except AsoreconcileError:
        pass  # refusing a sample, or passing on the refusal of the next link, is valid
    assert _content(request) == before, f"{link.name} changes its request"


def _request(link: Extension, kind: GroupKind, cr: JsonObject) -> Any:
    version = fake_version(kind=kind)
    arm = FakeArm(unknown="404").on("PUT", "", version.api_version, {"id": ARM_ID})
    ctx = fake_ctx(version, arm=arm)
    match link.point.request:
        case request if request is ModifyPayload:
            return ModifyPayload(ctx, cr, {"name": "sample", "properties": {}})
        case request if request is PreReconcileOwner:
            return PreReconcileOwner(ctx, cr)
        case request if request is PutRequest:
            return PutRequest(ctx, cr, {"name": "sample", "properties": {}})
        case request if request is ClassifyError:
            return ClassifyError(version, arm_fault(400, "BadRequest"))
        case request:
            return request(ctx, cr)


def _content(request: Any) -> bytes:
    fields = {
        name: value
        for name in ("obj", "owner", "payload", "body")
        if (value := getattr(request, name, None)) is not None
    }
    return jsontext.dumps(fields)
