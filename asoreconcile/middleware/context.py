"""What one reconcile of one object offers its extensions.

Narrow Protocols instead of the ARM client and the cache themselves: an extension test
needs no server, and the room below stays free to change.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Protocol

import attrs

from asoreconcile.arm import outcomes
from asoreconcile.arm.errors import ArmError, stated_resource
from asoreconcile.arm.tokens import Token, TokenError, dumps, loads
from asoreconcile.catalogue.kinds import KindVersion
from asoreconcile.clock import Clock
from asoreconcile.errors import AsoreconcileError, RetryError, StoppedError
from asoreconcile.log import Logger
from asoreconcile.objects import GroupKind, JsonObject, ObjectKey

# As HTTP writes them. Some providers show others in bodies, which no If-Match takes.
_ETAG = re.compile(r'(W/)?"[!#-~]+"')
# Before looking again after an operation that Azure accepted without a monitor.
_UNWATCHED_DELAY_SECONDS = 10.0


class SuboperationPending(AsoreconcileError):  # noqa: N818 - no error, and named as arm.outcomes does
    """A sub-operation is still running: come back to this reconcile later.

    Not a failure: the executor requeues and leaves the Ready condition as it is. Let
    it pass; an extension that catches it makes the reconcile go on too early.
    """

    def __init__(self, name: str, *, after_seconds: float) -> None:
        super().__init__(f"operation {name!r} is still running")
        self.name = name
        self.after_seconds = after_seconds


class ArmAccess(Protocol):
    """Azure Resource Manager as `arm.client.ArmClient` gives it.

    Every call is one request (`list`: one a page), blocks for that long, never sleeps.
    Raises ArmError for an answer that refuses, ArmTransportError for none.
    """

    def get(self, arm_id: str, api_version: str, /) -> JsonObject:
        """The resource's body. Raises ArmError with status 404 if it is not there."""

    def head(self, arm_id: str, api_version: str, /) -> bool:
        """True if the resource is there, for types that answer no GET (W19)."""

    def put(
        self, arm_id: str, api_version: str, body: JsonObject, /
    ) -> outcomes.ArmOutcome:
        """Send the whole body; the outcome is done, or running with a token to poll."""

    def delete(
        self,
        arm_id: str,
        api_version: str,
        /,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] = ...,
    ) -> outcomes.ArmOutcome:
        """Delete; a resource that is gone already is an outcome, not an error."""

    def post(
        self,
        arm_id_with_action: str,
        api_version: str,
        body: JsonObject | None = None,
        /,
    ) -> outcomes.ArmOutcome:
        """Call an action: the id with `/action` at its end. body None sends none."""

    def list(
        self, path: str, api_version: str, /, *, query: Mapping[str, str] | None = None
    ) -> Iterator[JsonObject]:
        """The items of a collection; pages are read as the iteration gets there."""

    def poll(
        self, token: Token, progress: outcomes.Progress = ..., /
    ) -> outcomes.ArmOutcome:
        """Ask once how a long-running operation stands; never waits for its end."""


class ObjectsView(Protocol):
    """The Azure objects in the cluster, read from the cache. Never blocks."""

    def get(self, group_kind: GroupKind, key: ObjectKey, /) -> JsonObject | None:
        """A private copy of a cached object; None if there is none, or its kind is not
        installed.
        """

    def owner_of(self, obj: JsonObject, /) -> JsonObject | None:
        """The owner's object; None for ARM-id owners and objects without one."""


class OperationStore(Protocol):
    """Keeps the tokens of running sub-operations with the object, across restarts."""

    def load(self, name: str, /) -> str | None:
        """The token kept under the name; None if there is none."""

    def save(self, name: str, token: str, /) -> None:
        """Keep a token, in the cluster before it returns: a crash may follow.

        Blocking.
        """

    def clear(self, name: str, /) -> None:
        """Forget a token, once its operation is over. Blocking if there was one."""


class MemoryOperations:
    """An `OperationStore` that forgets with the process: for dry runs and tests."""

    def __init__(self) -> None:
        self.tokens: dict[str, str] = {}

    def load(self, name: str, /) -> str | None:
        """The token kept under the name; None if there is none."""
        return self.tokens.get(name)

    def save(self, name: str, token: str, /) -> None:
        """Keep a token until the process ends."""
        self.tokens[name] = token

    def clear(self, name: str, /) -> None:
        """Forget a token, if it is there."""
        self.tokens.pop(name, None)


@attrs.frozen
class KeptAs:
    """How Azure Service Operator keeps the token of an operation that it knows, too: a
    cluster may change hands in the middle of it.

    annotation: its whole name. type_name: the `type` in the token.
    """

    annotation: str
    type_name: str


class _Unread:
    """The resource has not been read in this reconcile."""


_UNREAD = _Unread()


@attrs.define(eq=False)
class ReconcileContext:
    """One reconcile of one object; used by one thread.

    version: the object's kind at the api-version it is written with.
    arm_id: the resource's ARM id, "" while nobody knows it.
    subscription_id: the one that the credential is for.
    polls: the state of running sub-operations, by name, kept between reconciles.
    rests_on: the ETag that the PUT depends on, "" for an answer without one, None when
    the payload holds nothing that was read (`require_unchanged`).
    stop, deadline: what `check` looks at; deadline is in `clock.monotonic()` seconds.
    """

    version: KindVersion
    arm: ArmAccess = attrs.field(repr=False)
    arm_id: str
    subscription_id: str
    objects: ObjectsView = attrs.field(repr=False)
    log: Logger = attrs.field(repr=False)
    clock: Clock = attrs.field(repr=False)
    operations: OperationStore = attrs.field(factory=MemoryOperations, repr=False)
    polls: MutableMapping[str, outcomes.PollState] = attrs.field(
        factory=dict, repr=False
    )
    stop: threading.Event | None = attrs.field(default=None, repr=False)
    deadline: float | None = None
    rests_on: str | None = attrs.field(default=None, init=False)
    _raw: JsonObject | _Unread | None = attrs.field(
        default=_UNREAD, init=False, repr=False
    )

    def check(self) -> None:
        """Call between steps of anything long.

        Raises StoppedError when the process is stopping, RetryError when the reconcile
        has used up its time.
        """
        if self.stop is not None and self.stop.is_set():
            raise StoppedError("the operator is stopping")
        if self.deadline is not None and self.clock.monotonic() >= self.deadline:
            raise RetryError(
                "the reconcile reached its deadline: it is tried again",
                after_seconds=1.0,
            )

    def raw_get(self) -> JsonObject | None:
        """The resource as Azure has it now, at this object's api-version.

        Read once a reconcile and shared: never change it. None if Azure has none (404),
        and without a request while the ARM id is unknown. Raises ArmError otherwise.
        """
        if isinstance(self._raw, _Unread):
            self._raw = self._read() if self.arm_id else None
        return self._raw

    def require_unchanged(self) -> None:
        """Say that the payload holds what `raw_get` answered: it must be PUT only while
        Azure has that still, or what somebody else wrote meanwhile would be lost.

        Azure sees to it where the answer has an ETag (If-Match). Without one, no other
        write of this process below the resource comes in between.
        """
        etag = (self.raw_get() or {}).get("etag")
        known = isinstance(etag, str) and _ETAG.fullmatch(etag)
        self.rests_on = etag if known else ""

    @property
    def has_read(self) -> bool:
        """Whether `raw_get` has its answer already. Makes no request."""
        return not isinstance(self._raw, _Unread)

    @property
    def is_known_absent(self) -> bool:
        """Whether a read of this reconcile found no resource. Makes no request."""
        return self._raw is None and bool(self.arm_id)

    def read_anew(self) -> None:
        """The next `raw_get` asks Azure; nothing rests on what it answered before."""
        self._raw = _UNREAD
        self.rests_on = None

    def observed(self, body: JsonObject | None) -> None:
        """Tell what Azure answered just now: later `raw_get` calls return it."""
        self._raw = body

    def _read(self) -> JsonObject | None:
        try:
            body = self.arm.get(self.arm_id, self.version.api_version)
        except ArmError as error:
            if error.is_not_found:
                return None
            raise
        return stated_resource(body, url=self.arm_id)

    def lro(
        self,
        name: str,
        begin: Callable[[], outcomes.ArmOutcome],
        *,
        kept_as: KeptAs | None = None,
    ) -> JsonObject | list[Any] | None:
        """The result of a long-running sub-operation; one request of it a reconcile.

        name: lower-case words joined by dashes; it names the annotation that keeps the
        resume token, unless `kept_as` does. begin: starts the operation, and is called
        again if Azure has forgotten it, so it must look first whether there is anything
        to do (answer `Done(None)` then).
        Returns the operation's own body once it has ended well. Raises Pending while
        it runs, before its next poll is due, and when its state cannot be read just now
        (D3); ArmError when it failed, or Azure refuses to show it (L16): the next
        reconcile starts again.
        """
        operation = _SubOperation(self, name, kept_as)
        outcome = operation.resumed() or begin()
        match outcome:
            case outcomes.OperationDone(body=body):
                operation.ended()
                return body
            case outcomes.Failed(error=error):
                operation.ended()
                raise error
            case outcomes.Pending(delay_seconds=delay, read_error=read_error):
                if read_error is not None:
                    self.log.warning(
                        "Operation cannot be read", operation=name, reason=read_error
                    )
                operation.runs(outcome)
                raise SuboperationPending(name, after_seconds=delay)
            case outcomes.ReadResource() | outcomes.Restart():
                # Nothing to poll: `begin` sees for itself next time how far it is.
                operation.ended()
                raise SuboperationPending(name, after_seconds=_UNWATCHED_DELAY_SECONDS)


class _SubOperation:
    """One sub-operation of an object, as its token and the process remember it."""

    def __init__(
        self, ctx: ReconcileContext, name: str, kept_as: KeptAs | None
    ) -> None:
        self._ctx = ctx
        self._name = name
        self._at = name if kept_as is None else kept_as.annotation
        self._type_name = "" if kept_as is None else kept_as.type_name

    def resumed(self) -> outcomes.ArmOutcome | None:
        """One poll of the stored operation; None when it must begin (again).

        Raises Pending before the poll is due: an event may have brought the reconcile
        forward (D4).
        """
        ctx = self._ctx
        text = ctx.operations.load(self._at)
        if text is None:
            return None
        known = ctx.polls.get(self._name, outcomes.PollState())
        early = known.due - ctx.clock.monotonic()
        if early > 0:
            raise SuboperationPending(self._name, after_seconds=early)
        try:
            token = loads(text, type_name=self._type_name)
        except TokenError as error:
            ctx.log.warning(
                "Dropping unreadable token", operation=self._name, reason=error
            )
            self.ended()
            return None
        outcome = ctx.arm.poll(token, known.progress)
        if not isinstance(outcome, outcomes.ReadResource | outcomes.Restart):
            return outcome
        if isinstance(outcome, outcomes.ReadResource) and outcome.error is not None:
            return outcomes.Failed(outcome.error)
        ctx.log.info("Beginning forgotten operation anew", operation=self._name)
        self.ended()
        return None

    def runs(self, running: outcomes.Pending) -> None:
        """Keep its token with the object, and what counts in memory."""
        ctx = self._ctx
        due = ctx.clock.monotonic() + running.delay_seconds
        ctx.polls[self._name] = outcomes.PollState(running.progress, due)
        text = dumps(running.token, type_name=self._type_name)
        if ctx.operations.load(self._at) != text:
            ctx.operations.save(self._at, text)

    def ended(self) -> None:
        """Forget the operation, which is over."""
        self._ctx.polls.pop(self._name, None)
        self._ctx.operations.clear(self._at)
