"""The services of one reconcile for its extensions.

Narrow Protocols instead of the ARM client and the cache themselves: an extension test
needs no server, and those modules can change.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Protocol

import attrs

from asoreconcile.azure.arm import outcomes
from asoreconcile.azure.arm.errors import ArmError, stated_resource
from asoreconcile.azure.arm.tokens import Token, TokenError, dumps, loads
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import AsoreconcileError, RetryError, StoppedError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey

# ETags in HTTP's form. Some providers show others in bodies, which If-Match does not
# accept.
_ETAG = re.compile(r'(W/)?"[!#-~]+"')
# The delay after an operation that Azure accepted without a monitor.
_UNWATCHED_DELAY_SECONDS = 10.0


class SuboperationPending(AsoreconcileError):  # noqa: N818 - no error, and named as arm.outcomes does
    """A sub-operation is still running: requeue this reconcile.

    Not a failure: the Ready condition stays as it is. Do not catch it: an extension
    that does makes the reconcile continue too early.
    """

    def __init__(self, name: str, *, after_seconds: float) -> None:
        super().__init__(f"operation {name!r} is still running")
        self.name = name
        self.after_seconds = after_seconds


class ArmAccess(Protocol):
    """Azure Resource Manager as `arm.client.ArmClient` gives it.

    Every call is one request (`list`: one a page), blocks for that long, never sleeps.
    Raises ArmError for a refusal, ArmTransportError without an answer.
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
        """Poll a long-running operation once; never waits for its end."""


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
        """Store a token in the cluster before returning, as a crash may follow.

        Blocking.
        """

    def clear(self, name: str, /) -> None:
        """Forget a token, once its operation is over. Blocking if there was one."""


class MemoryOperations:
    """An `OperationStore` in memory only: for dry runs and tests."""

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
    """How Azure Service Operator stores the token of an operation that it has, too: a
    cluster may switch operators during the operation.

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
    arm_id: the resource's ARM id, "" while unknown.
    subscription_id: the credential's.
    polls: the state of running sub-operations, by name, kept between reconciles.
    rests_on: the ETag that the PUT depends on, "" for an answer without one, None when
    the payload contains nothing that was read (`require_unchanged`).
    stop, deadline: for `check`; deadline is in `clock.monotonic()` seconds.
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

        Raises StoppedError when the process is stopping, RetryError after the
        reconcile's deadline.
        """
        if self.stop is not None and self.stop.is_set():
            raise StoppedError("the operator is stopping")
        if self.deadline is not None and self.clock.monotonic() >= self.deadline:
            raise RetryError(
                "the reconcile reached its deadline: it is tried again",
                after_seconds=1.0,
            )

    def raw_get(self) -> JsonObject | None:
        """The resource, read at this object's api-version.

        Read once a reconcile and shared: never change it. None if it does not exist
        (404), or, without a request, while the ARM id is unknown. Raises ArmError
        otherwise.
        """
        if isinstance(self._raw, _Unread):
            self._raw = self._read() if self.arm_id else None
        return self._raw

    def require_unchanged(self) -> None:
        """Declare that the payload contains data of `raw_get`: it must be PUT only if
        the resource is unchanged since, or another writer's change would be lost.

        With an ETag in the answer Azure enforces this (If-Match). Without one, this
        process makes no other write below the resource in between.
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
        """The next `raw_get` sends a GET; the PUT no longer depends on the last
        answer.
        """
        self._raw = _UNREAD
        self.rests_on = None

    def observed(self, body: JsonObject | None) -> None:
        """Set the resource that Azure has just returned: later `raw_get` calls return
        it.
        """
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
        again if Azure has lost it, so it must check first whether there is anything to
        do (if not, return `Done(None)`). Returns the operation's result once it has
        succeeded. Raises Pending while it runs, before its next poll is due, and when
        its state cannot be read just now (D3); ArmError when it failed, or Azure
        refuses the poll (L16): the next reconcile starts again.
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
                # Nothing to poll: next time `begin` checks the progress itself.
                operation.ended()
                raise SuboperationPending(name, after_seconds=_UNWATCHED_DELAY_SECONDS)


class _SubOperation:
    """One sub-operation of an object, from its token and memory."""

    def __init__(
        self, ctx: ReconcileContext, name: str, kept_as: KeptAs | None
    ) -> None:
        self._ctx = ctx
        self._name = name
        self._at = name if kept_as is None else kept_as.annotation
        self._type_name = "" if kept_as is None else kept_as.type_name

    def resumed(self) -> outcomes.ArmOutcome | None:
        """Poll the stored operation once; None when it must start (again).

        Raises Pending before the poll is due: a watch event may trigger the reconcile
        sooner (D4).
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
        """Store its token with the object, and its poll state in memory."""
        ctx = self._ctx
        due = ctx.clock.monotonic() + running.delay_seconds
        ctx.polls[self._name] = outcomes.PollState(running.progress, due)
        text = dumps(running.token, type_name=self._type_name)
        if ctx.operations.load(self._at) != text:
            ctx.operations.save(self._at, text)

    def ended(self) -> None:
        """Forget the operation, which has ended."""
        self._ctx.polls.pop(self._name, None)
        self._ctx.operations.clear(self._at)
