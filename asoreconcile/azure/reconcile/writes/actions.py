"""Performs the actions of decisions: the only place that calls Azure and extensions.

Each action runs once; its result goes to the pure function that decides the next step.
Blocking, but no action sleeps.
"""

from contextlib import ExitStack, suppress
from typing import assert_never

from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm.outcomes import ArmOutcome, Failed, Pending, Restart
from asoreconcile.azure.middleware import requests
from asoreconcile.azure.middleware.extension_points import (
    EVERY_SUCCESS,
    POST_RECONCILE,
)
from asoreconcile.azure.reconcile.exports.export import checked_expressions, export
from asoreconcile.azure.reconcile.identity import claim
from asoreconcile.azure.reconcile.identity.claim import ClaimFacts
from asoreconcile.azure.reconcile.identity.claim_reads import facts_of_claim
from asoreconcile.azure.reconcile.identity.duplicate_reads import require_sole
from asoreconcile.azure.reconcile.identity.identity import ResourceIdentity
from asoreconcile.azure.reconcile.identity.identity_reads import identify
from asoreconcile.azure.reconcile.identity.payload import payload_of
from asoreconcile.azure.reconcile.model.decisions import (
    Action,
    CheckAbsent,
    Claim,
    Decision,
    Delete,
    Follows,
    InferFromResource,
    Poll,
    PostCheck,
    PrepareDelete,
    PreparePut,
    Put,
    Read,
    RemoveFinalizer,
    RestoreId,
    SetOperatorNamespace,
    WriteExports,
)
from asoreconcile.azure.reconcile.model.put_ledger import PutRecord, digest
from asoreconcile.azure.reconcile.scope.arm_errors import monitor_refused
from asoreconcile.azure.reconcile.scope.effects import apply
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.validate import require_valid
from asoreconcile.azure.reconcile.state.parent_writes import ParentRead
from asoreconcile.azure.reconcile.sync.bulk_reads import look_again, note_write
from asoreconcile.azure.reconcile.sync.drift_reads import (
    before_body,
    facts_of_sync,
    learned,
    note_of_put,
    resumed_period,
    seconds_until_next_sync,
)
from asoreconcile.azure.reconcile.sync.resource_reads import (
    inputs_changed,
    is_stored,
    observed_status,
    require_own,
)
from asoreconcile.azure.reconcile.writes import begin, operation_polls, success
from asoreconcile.azure.reconcile.writes.delete_actions import (
    check_absent,
    prepare_delete,
    release,
    send_delete,
)
from asoreconcile.azure.reconcile.writes.precheck_reads import run_prechecks
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import (
    JsonObject,
    annotations,
    generation,
    is_deleting,
    labels,
    owner_references,
    status,
)


class Actions:
    """The actions of one reconcile. Not for sharing between threads."""

    def __init__(self, scope: ReconcileScope, stack: ExitStack) -> None:
        """stack: closed at the end of the reconcile."""
        self._scope = scope
        self._stack = stack
        self._reading: ParentRead | None = None
        self._sent: JsonObject | None = None  # the body that was PUT

    def do(self, action: Action) -> Decision:
        """Do one action; the decision that follows. Raises as `execute`."""
        match action:
            case SetOperatorNamespace():
                return self._mark(action)
            case Claim():
                return claim.claimed(facts_of_claim(self._scope))
            case RestoreId():
                return self._restore_id()
            case PreparePut():
                return self._prepare()
            case Put():
                return self._put(action)
            case Poll():
                return self._poll()
            case InferFromResource():
                return self._judge(action)
            case Read():
                return self._read(action)
            case PostCheck(follows):
                return self._check(follows)
            case WriteExports(follows):
                return self._export(follows)
            case PrepareDelete():
                return prepare_delete(self._scope)
            case Delete():
                return send_delete(self._scope)
            case CheckAbsent():
                return check_absent(self._scope)
            case RemoveFinalizer():
                return release(self._scope)
            case _:
                assert_never(action)

    # Claiming an object.

    def _mark(self, action: SetOperatorNamespace) -> Decision:
        facts: ClaimFacts | None = None
        if action.claim:
            # Any error here comes again in the next reconcile, which shows it on an
            # object that is ours by then.
            with suppress(Exception):
                facts = facts_of_claim(self._scope)
        namespace = self._scope.operator.namespace
        return claim.marked(facts, operator_namespace=namespace)

    def _restore_id(self) -> Decision:
        identity = identify(self._scope, self._scope.owner())
        return claim.restored_id(identity.arm_id)

    # Before a PUT, and the PUT.

    def _prepare(self) -> Decision:
        scope = self._scope
        now, build = scope.operator.clock.monotonic(), scope.operator.build
        # What is read from here on must still be true at the PUT.
        reading = scope.operator.parent_writes.reading(scope.arm_id)
        self._reading = self._stack.enter_context(reading)
        accepted = scope.memory.accepted
        if decided := begin.resumed(accepted, now=now, build=build):
            return decided
        require_valid(scope)
        obj = scope.obj
        if not status(obj).get("id"):
            # Nothing is created in Azure from a spec that its author must still
            # correct.
            checked_expressions(scope, obj)
        owner = scope.owner()
        references = owner_references(obj)
        if decided := claim.restored_owner(labels(obj), references, owner):
            return decided
        # Nothing more is read for an object that the previous process left Ready: at a
        # start thousands come here.
        if accepted is None and (resumed := resumed_period(scope, owner)):
            return resumed
        if decided := run_prechecks(scope, owner):
            return decided
        identity = identify(scope, owner)
        scope.require_subscription(identity.arm_id)
        # Before the body is built: the younger of two objects sends Azure nothing.
        require_sole(scope, identity.arm_id)
        before_body(scope)
        decided = self._prepared(identity, accepted)
        if isinstance(decided.then, Put) and look_again(scope):
            decided = self._prepared(identity, accepted)
        return decided

    def _prepared(
        self, identity: ResourceIdentity, accepted: PutRecord | None
    ) -> Decision:
        scope = self._scope
        body = payload_of(scope, identity)
        put = Put(
            identity.arm_id,
            body,
            digest(identity.arm_id, scope.version.api_version, body),
            note_of_put(scope, identity, body),
        )
        facts = begin.PutFacts(
            put=put,
            generation=scope.patcher.generation,
            accepted=accepted,
            sync=facts_of_sync(scope, identity, body) if accepted is None else None,
            now=scope.operator.clock.monotonic(),
            build=scope.operator.build,
        )
        return begin.before_put(facts)

    def _put(self, put: Put) -> Decision:
        scope = self._scope
        # As late as possible: no PUT for an object that was deleted meanwhile (D2).
        scope.patcher.confirm()
        # Also if Azure refuses the PUT: people then ask which credential was used.
        for effect in begin.credential_used(
            scope.connection.source, before=scope.memory.credential
        ):
            apply(scope, effect)
        scope.log.info("Putting resource", armId=put.arm_id)
        answer: ArmOutcome | ArmError
        try:
            answer = self._send(put)
        except ArmError as error:
            answer = error
        facts = begin.PutAnswer(
            put=put,
            answer=answer,
            generation=scope.patcher.generation,
            stored=annotations(scope.obj),
            before=status(scope.obj),
            arm_type=scope.version.arm_type,
            inputs=scope.references.mark(),
            rests_on=scope.context.rests_on,
            was_absent=scope.context.is_known_absent,
            precondition_failures=scope.memory.precondition_failures,
            now=scope.operator.clock.monotonic(),
            build=scope.operator.build,
        )
        return begin.after_put(facts)

    def _send(self, put: Put) -> ArmOutcome:
        """Send the PUT. If the body contains what was read, the PUT is sent only while
        that is still true: by the ETag of the read, else by `parent_writes`.
        """
        scope = self._scope
        rests_on = scope.context.rests_on
        headers = {"If-Match": rests_on} if rests_on else {}
        parent_writes = scope.operator.parent_writes
        with ExitStack() as stack:
            # The body contains what was read, without an ETag: only `parent_writes`
            # keeps it true.
            if rests_on == "" and self._reading is not None:
                stack.enter_context(parent_writes.exclusive(self._reading))
            stack.enter_context(parent_writes.writing(put.arm_id))
            # From here on Azure may have this body, whatever its answer.
            scope.memory.accepted = None
            scope.memory.last_look = None
            scope.listed_at = None
            stack.callback(note_write, scope)
            self._sent = put.body
            return scope.connection.client.put(
                put.arm_id, scope.version.api_version, put.body, headers=headers
            )

    # A running operation.

    def _poll(self) -> Decision:
        scope, watched = self._scope, self._watched()
        if decided := operation_polls.before_poll(watched):
            return decided
        progress = watched.poll.progress
        outcome = scope.connection.client.poll(watched.token(), progress)
        # The end of an operation is a write by Azure: a list that was started before
        # may not show it (Q8).
        if not isinstance(outcome, Pending):
            note_write(scope)
        self._look_at_inputs(outcome)
        return operation_polls.after_poll(watched, outcome)

    def _judge(self, action: InferFromResource) -> Decision:
        scope, watched, undecided = self._scope, self._watched(), action.undecided
        refusal = undecided.error
        refused = {"error": str(refusal)} if refusal else {}
        scope.log.info(
            "Reading the resource instead of its monitor",
            why=undecided.reason,
            **refused,
        )
        try:
            outcome = scope.connection.client.judge(
                scope.arm_id,
                scope.version.api_version,
                deleting=undecided.deleting,
                progress=watched.poll.progress,
            )
        except (ArmError, ArmTransportError, RetryError) as unread:
            if refusal is None:
                raise
            # The monitor's message is more useful.
            raise monitor_refused(scope, refusal, unread) from refusal
        self._look_at_inputs(outcome)
        return operation_polls.after_judging(watched, undecided, outcome)

    def _watched(self) -> operation_polls.Watched:
        scope = self._scope
        return operation_polls.Watched(
            arm_id=scope.arm_id,
            api_version=scope.version.api_version,
            stored=annotations(scope.obj),
            deleting=is_deleting(scope.obj),
            generation=scope.patcher.generation,
            poll=scope.memory.poll,
            accepted=scope.memory.accepted,
            now=scope.operator.clock.monotonic(),
        )

    def _look_at_inputs(self, outcome: ArmOutcome) -> None:
        """Find out whether a failed PUT was made of outdated inputs."""
        if isinstance(outcome, Failed | Restart) and not is_deleting(self._scope.obj):
            self._scope.inputs_changed = inputs_changed(self._scope)

    # Reads of the resource.

    def _read(self, action: Read) -> Decision:
        scope = self._scope
        scope.require_subscription(scope.arm_id)
        # Before the read: the id is in an annotation, which people can edit.
        require_own(scope)
        before = status(scope.obj)
        observed = observed_status(scope, action.body)
        if observed is not None and not is_stored(scope, observed):
            scope.patcher.replace_status(observed)
        facts = success.ReadFacts(
            arm_id=scope.arm_id,
            follows=action.follows,
            is_there=observed is not None,
            before=before,
            after=scope.patcher.status,
            stored=annotations(scope.obj),
            accepted=scope.memory.accepted,
        )
        return success.after_read(facts)

    def _check(self, follows: Follows) -> Decision:
        scope = self._scope
        extensions, gk = scope.operator.extensions, scope.kind.group_kind
        result: requests.PostResult = requests.Ready()
        if extensions.has(POST_RECONCILE, gk):
            owner = scope.owner()
            result = extensions.chain(POST_RECONCILE, gk)(
                requests.PostReconcile(
                    ctx=scope.context,
                    obj=self._current(),
                    owner=None if owner is None else owner.obj,
                )
            )
        usable = isinstance(result, requests.Ready)
        return success.after_check(
            result,
            follows=follows,
            stored=annotations(scope.obj),
            learned=learned(scope, follows, self._sent) if usable else (),
        )

    def _export(self, follows: Follows) -> Decision:
        """The last step that may fail: the export record is written with the next write
        of metadata; without it the secrets would be fetched again.
        """
        scope = self._scope
        current = self._current()
        export(scope, current)
        chain = scope.operator.extensions.chain(EVERY_SUCCESS, scope.kind.group_kind)
        scope.patcher.annotate(chain(requests.Success(ctx=scope.context, obj=current)))
        was_running = follows is Follows.OPERATION
        facts = success.EndFacts(
            follows=follows,
            stored=annotations(scope.obj),
            generation=generation(scope.obj),
            inputs_changed=was_running and inputs_changed(scope),
            resync_seconds=seconds_until_next_sync(scope, was_synced=True),
        )
        return success.after_export(facts)

    def _current(self) -> JsonObject:
        return {**self._scope.obj, "status": self._scope.patcher.status}
