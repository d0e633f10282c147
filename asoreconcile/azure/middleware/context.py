"""The services that one reconcile of one object offers to its extensions.

They are narrow Protocols instead of the ARM client and the cache: the test of an
extension needs no server, and the implementations can change.
"""

import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Literal, Protocol

import attrs

from asoreconcile.azure.arm import outcomes
from asoreconcile.azure.arm.absence import Absence
from asoreconcile.azure.arm.errors import ArmError, stated_resource
from asoreconcile.azure.arm.tokens import Token, TokenError, dumps, is_near, loads
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.middleware.declared import Declared
from asoreconcile.base import reconcile_context
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey

# ETags in HTTP's form. Some providers show others in bodies, which If-Match does not
# accept.
_ETAG = re.compile(r'(W/)?"[!#-~]+"')
# The delay after an operation that Azure accepted without a monitor.
_UNWATCHED_DELAY_SECONDS = 10.0


class SuboperationPending(AsoreconcileError):  # noqa: N818 - no error, and named as arm.outcomes does
    """A sub-operation is still running: the reconcile is repeated later.

    This is not a failure: the executor requeues and leaves the Ready condition
    unchanged. An extension must not catch it, or the reconcile continues too early.
    """

    def __init__(self, name: str, *, after_seconds: float) -> None:
        super().__init__(f"operation {name!r} is still running")
        self.name = name
        self.after_seconds = after_seconds


class ArmAccess(Protocol):
    """The part of `arm.client.ArmClient` that extensions may use.

    Every call is one request (`list`: one per page), blocks for that long and never
    sleeps. It raises ArmError for a refusal and ArmTransportError if there is no
    response.
    """

    def get(self, arm_id: str, api_version: str, /) -> JsonObject:
        """Return the resource's body. Raises ArmError with status 404 if it does not
        exist.
        """

    def head(self, arm_id: str, api_version: str, /) -> bool:
        """Return whether the resource exists, for types that do not support GET
        (W19).
        """

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
        """Delete; a resource that no longer exists is an outcome, not an error."""

    def post(
        self,
        arm_id_with_action: str,
        api_version: str,
        body: JsonObject | None = None,
        /,
    ) -> outcomes.ArmOutcome:
        """Call an action: the id with `/action` at its end. body: None sends none."""

    def list(
        self, path: str, api_version: str, /, *, query: Mapping[str, str] | None = None
    ) -> Iterator[JsonObject]:
        """Yield the items of a collection; pages are read as they are consumed."""

    def poll(
        self, token: Token, progress: outcomes.Progress = ..., /
    ) -> outcomes.ArmOutcome:
        """Read the status of a long-running operation once; never waits for its end."""


class ObjectsView(Protocol):
    """The Azure objects in the cluster, read from the cache. Never blocks."""

    def get(self, group_kind: GroupKind, key: ObjectKey, /) -> JsonObject | None:
        """Return a private copy of a cached object; None if it or its kind does not
        exist.
        """

    def owner_of(self, obj: JsonObject, /) -> JsonObject | None:
        """Return the owner's object; None for ARM-id owners and objects without an
        owner.
        """


class OperationStore(Protocol):
    """Stores the tokens of running sub-operations with the object, across restarts."""

    def load(self, name: str, /) -> str | None:
        """Return the token stored under the name; None if there is none."""

    def has_mark(self, name: str, /) -> bool:
        """Return whether this operator has stored the token under the name; otherwise
        another one, or an author, did.
        """

    def save(self, name: str, token: str, /) -> None:
        """Store a token in the cluster before returning: a crash may follow.
        Blocking.
        """

    def clear(self, name: str, /) -> None:
        """Remove a token after its operation has ended. Blocking if there was one."""


class MemoryOperations:
    """An `OperationStore` in memory, for dry runs and tests."""

    def __init__(self) -> None:
        self.tokens: dict[str, str] = {}

    def load(self, name: str, /) -> str | None:
        """Return the token stored under the name; None if there is none."""
        return self.tokens.get(name)

    def has_mark(self, name: str, /) -> bool:  # noqa: ARG002 (one process stores all)
        """Return true: no other stores anything here."""
        return True

    def save(self, name: str, token: str, /) -> None:
        """Store a token until the process ends."""
        self.tokens[name] = token

    def clear(self, name: str, /) -> None:
        """Remove a token, if there is one."""
        self.tokens.pop(name, None)


@attrs.frozen
class KeptAs:
    """The annotation in which Azure Service Operator stores an operation's token.

    With it, the other operator can continue an operation that this one began, and the
    reverse.

    annotation: its full name.
    type_name: the `type` in the token.
    """

    annotation: str
    type_name: str


@attrs.frozen
class ResourceRead:
    """The result of a read of the resource.

    body: None if there is no resource. absence: the statement of Azure then.
    """

    body: JsonObject | None = attrs.field(repr=False)
    absence: Absence = Absence.NOT


_UNREAD = ResourceRead(None)


def _calls_itself(_: "ReconcileContext") -> ResourceRead:
    raise RuntimeError("an extension of point get calls raw_get: call the next link")


@attrs.define(eq=False)
class ReconcileContext:
    """One reconcile of one object; used by one thread.

    version: the object's kind at the api-version that it is written with.
    arm_id: the resource's ARM id, "" while unknown.
    subscription_id: the credential's subscription.
    polls: the state of running sub-operations, by name, kept between reconciles.
    event: records an event about the object, by type, reason (CamelCase) and message;
    never blocks.
    only_reports: whether the sync mode is `report`, in which an extension may not
    change a resource that exists.
    permit: function that raises unless the present object permits changes in Azure.
    declared: the names that the object declares where others write, too.
    get: the extensions of point `GET`; None if the kind has none.
    required_etag: the ETag of the read that the payload contains values of; "" if the
    response had none; None if the payload contains nothing that was read
    (`require_unchanged`).
    read: the read that `raw_get` shares; None before it.
    needs_absence: if true, the PUT would delete parts of a resource that is there after
    all (`require_absence`).
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
    event: Callable[[Literal["Normal", "Warning"], str, str], None] = attrs.field(
        default=lambda _type, _reason, _message: None, repr=False
    )
    only_reports: bool = False
    permit: Callable[[], None] = attrs.field(default=lambda: None, repr=False)
    declared: Declared = attrs.field(factory=Declared, repr=False)
    get: "Callable[[ReconcileContext], ResourceRead] | None" = attrs.field(
        default=None, repr=False
    )
    required_etag: str | None = attrs.field(default=None, init=False)
    read: ResourceRead | None = attrs.field(default=None, init=False, repr=False)
    needs_absence: bool = attrs.field(default=False, init=False)

    def check(self) -> None:
        """Raise if the reconcile has to end; call this between the steps of a long
        extension.

        Raises StoppedError if the process is stopping, DeadlineError if the reconcile
        has used up its time.
        """
        reconcile_context.check()

    def raw_get(self) -> JsonObject | None:
        """Return the present resource from Azure, at this object's api-version.

        It is read once per reconcile and shared: never change it. None if Azure has
        none (404), and without a request while the ARM id is unknown. Raises ArmError
        for other failures.
        """
        if self.read is None:
            self.read = self._through_extensions() if self.arm_id else _UNREAD
        return self.read.body

    def _through_extensions(self) -> ResourceRead:
        if self.get is None:
            return self.read_resource()
        get, self.get = self.get, _calls_itself
        try:
            return get(self)
        finally:
            self.get = get

    def require_unchanged(self) -> None:
        """Declare that the payload contains parts of the result of `raw_get`.

        The payload is then PUT only while Azure still has that state, so that a
        concurrent write is not lost. If the response has an ETag, Azure checks it
        (If-Match). Without an ETag, no other write of this process to the resource or
        its children happens in between.
        """
        self.required_etag = self._etag()

    def prefer_unchanged(self) -> None:
        """Declare the same as `require_unchanged`, but only if the response has an
        ETag, so that writes of other resources need not wait.
        """
        if self.required_etag is None:
            self.required_etag = self._etag() or None

    def _etag(self) -> str:
        etag = (self.raw_get() or {}).get("etag")
        return etag if isinstance(etag, str) and _ETAG.fullmatch(etag) else ""

    def require_absence(self) -> None:
        """Declare that the payload lacks parts of the resource because `raw_get` found
        no resource.

        If the resource was there before, the payload is PUT only after Azure has
        confirmed that the resource is gone.
        """
        self.needs_absence = True

    @property
    def absence(self) -> Absence:
        """Return the statement of Azure if `raw_get` returned None. Makes no
        request.
        """
        return Absence.NOT if self.read is None else self.read.absence

    @property
    def is_known_absent(self) -> bool:
        """Return whether a read of this reconcile found no resource. Makes
        no request.
        """
        return self.read is not None and self.read.body is None and bool(self.arm_id)

    def observed(self, body: JsonObject | None, absence: Absence = Absence.NOT) -> None:
        """Set the result of later `raw_get` calls to a body that Azure has just
        returned. absence: Azure's statement about a resource without a body.
        """
        self.read = ResourceRead(body, absence)

    def read_resource(self) -> ResourceRead:
        """Read the resource by one GET; the end of the chain of point `GET`. Raises
        ArmError, ArmTransportError.
        """
        try:
            body = self.arm.get(self.arm_id, self.version.api_version)
        except ArmError as error:
            if error.is_not_found:
                return ResourceRead(None, error.absence)
            raise
        return ResourceRead(stated_resource(body, url=self.arm_id))

    def lro(
        self,
        name: str,
        begin: Callable[[], outcomes.ArmOutcome],
        *,
        kept_as: KeptAs | None = None,
        only_reads: bool = False,
    ) -> JsonObject | list[Any] | None:
        """Return the result of a long-running sub-operation; makes one request per
        reconcile.

        name: lower-case words joined by dashes; names the annotation that stores the
        resume token, unless `kept_as` does.
        begin: starts the operation. It is called again if Azure has forgotten the
        operation, so it must first check whether there is anything to do (and return
        `OperationDone(None)` if not).
        kept_as: the annotation that ASO uses, if there is one.
        only_reads: whether the operation changes nothing; otherwise `permit` is called
        before it begins.

        Returns the operation's own body once it has succeeded. Raises
        SuboperationPending while it runs, before its next poll is due, and if its state
        cannot be read (D3). Raises ArmError if it failed, or if Azure refuses to show
        it (L16): the next reconcile starts again.
        """
        operation = _SubOperation(self, name, kept_as)
        outcome = operation.resumed()
        if outcome is None:
            if not only_reads:
                self.permit()
            outcome = begin()
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
    """One sub-operation of an object, with its stored token and its state in memory."""

    def __init__(
        self, ctx: ReconcileContext, name: str, kept_as: KeptAs | None
    ) -> None:
        self._ctx = ctx
        self._name = name
        self._at = name if kept_as is None else kept_as.annotation
        self._type_name = "" if kept_as is None else kept_as.type_name

    def resumed(self) -> outcomes.ArmOutcome | None:
        """Poll the stored operation once; return None if it must begin, or begin again.

        Raises SuboperationPending before the poll is due: an event may have triggered
        an earlier reconcile (D4).
        """
        ctx = self._ctx
        text = ctx.operations.load(self._at)
        if text is None:
            return None
        known = ctx.polls.get(self._name, outcomes.PollState())
        early = known.due - ctx.clock.monotonic()
        if early > 0:
            raise SuboperationPending(self._name, after_seconds=early)
        is_marked = ctx.operations.has_mark(self._at)
        try:
            token = loads(text, type_name=self._type_name)
            if not is_marked and not is_near(token, ctx.arm_id):
                raise TokenError("its monitor is of another subscription or provider")
        except TokenError as error:
            ctx.log.warning(
                "Dropping unreadable token", operation=self._name, reason=error
            )
            self.ended()
            return None
        outcome = ctx.arm.poll(token, known.progress)
        if not is_marked and not isinstance(outcome, outcomes.Pending):
            # The answer may be about another resource: the operator reads it as itself.
            return outcomes.ReadResource("record without our mark", deleting=False)
        if not isinstance(outcome, outcomes.ReadResource | outcomes.Restart):
            return outcome
        if isinstance(outcome, outcomes.ReadResource) and outcome.error is not None:
            return outcomes.Failed(outcome.error)
        ctx.log.info("Beginning forgotten operation anew", operation=self._name)
        self.ended()
        return None

    def runs(self, running: outcomes.Pending) -> None:
        """Store the token with the object, and the progress in memory."""
        ctx = self._ctx
        due = ctx.clock.monotonic() + running.delay_seconds
        ctx.polls[self._name] = outcomes.PollState(running.progress, due)
        text = dumps(running.token, type_name=self._type_name)
        stored = ctx.operations.load(self._at)
        # To save a token marks it: only one that Azure has named to this operator.
        if stored is None or (stored != text and ctx.operations.has_mark(self._at)):
            ctx.operations.save(self._at, text)

    def ended(self) -> None:
        """Remove the state of the operation, which has ended."""
        self._ctx.polls.pop(self._name, None)
        self._ctx.operations.clear(self._at)
