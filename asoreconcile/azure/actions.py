"""The actions of decisions: the one place that asks Azure, the cluster and extensions.

Each is done once; what is known then goes to the pure function that decides what is
next. Blocking, but none waits.
"""

from contextlib import ExitStack, suppress
from typing import assert_never

from asoreconcile.arm.errors import ArmError, ArmTransportError
from asoreconcile.arm.outcomes import ArmOutcome, Failed, Restart
from asoreconcile.azure import begin, claim, delete, monitor, success
from asoreconcile.azure.arm_errors import monitor_refused
from asoreconcile.azure.claim import ClaimFacts
from asoreconcile.azure.claim_reads import facts_of_claim
from asoreconcile.azure.decisions import (
    Action,
    Check,
    Claim,
    Decision,
    Delete,
    Follows,
    Judge,
    KeepReady,
    Look,
    Mark,
    Poll,
    Prepare,
    PrepareDelete,
    Put,
    Read,
    Release,
    Requeue,
    RestoreId,
    WriteExports,
)
from asoreconcile.azure.default_delete import is_absent
from asoreconcile.azure.drift_reads import facts_of_sync, learned, note_of_put
from asoreconcile.azure.duplicates import holder, require_sole
from asoreconcile.azure.effects import apply
from asoreconcile.azure.export import export
from asoreconcile.azure.identity import identify, is_own
from asoreconcile.azure.payload import payload_of
from asoreconcile.azure.prechecks import run_prechecks
from asoreconcile.azure.put_ledger import digest
from asoreconcile.azure.resource_reads import (
    inputs_changed,
    observed_status,
    require_own,
)
from asoreconcile.azure.scope import ReconcileScope
from asoreconcile.azure.turns import Reading
from asoreconcile.azure.validate import require_valid
from asoreconcile.errors import RetryError
from asoreconcile.middleware import requests
from asoreconcile.middleware.extension_points import (
    DELETE,
    EVERY_SUCCESS,
    POST_RECONCILE,
)
from asoreconcile.objects import (
    JsonObject,
    annotations,
    finalizers,
    generation,
    is_deleting,
    labels,
    owner_references,
    status,
)


class Actions:
    """What one reconcile does. Not for sharing between threads."""

    def __init__(self, work: ReconcileScope, stack: ExitStack) -> None:
        """stack: closed at the end of the reconcile."""
        self._work = work
        self._stack = stack
        self._reading: Reading | None = None

    def do(self, action: Action) -> Decision:
        """Do one action; what is decided then. Raises as `execute`."""
        match action:
            case Mark():
                return self._mark(action)
            case Claim():
                return claim.claimed(facts_of_claim(self._work))
            case RestoreId():
                return self._restore_id()
            case Prepare():
                return self._prepare()
            case Put():
                return self._put(action)
            case Poll():
                return self._poll()
            case Judge():
                return self._judge(action)
            case Read():
                return self._read(action)
            case Check(follows):
                return self._check(follows)
            case WriteExports(follows):
                return self._export(follows)
            case PrepareDelete():
                return self._prepare_delete()
            case Delete():
                return self._delete()
            case Look():
                absent = is_absent(self._work.context)
                kind = self._work.version.gvk.kind
                return delete.after_look(is_absent=absent, kind=kind)
            case Release():
                return self._release()
            case _:
                assert_never(action)

    # Making an object ours.

    def _mark(self, action: Mark) -> Decision:
        facts: ClaimFacts | None = None
        if action.claim:
            # Whatever it waits for or stumbles over the next reconcile meets again, and
            # shows on an object that is ours by then.
            with suppress(Exception):
                facts = facts_of_claim(self._work)
        namespace = self._work.operator.namespace
        return claim.marked(facts, operator_namespace=namespace)

    def _restore_id(self) -> Decision:
        identity = identify(self._work, self._work.owner())
        return claim.restored_id(identity.arm_id)

    # Before a PUT, and the PUT.

    def _prepare(self) -> Decision:
        work = self._work
        now, build = work.operator.clock.monotonic(), work.operator.build
        # What is read from here on must still hold when it is put.
        reading = work.operator.turns.reading(work.arm_id)
        self._reading = self._stack.enter_context(reading)
        accepted = work.memory.accepted
        if decided := begin.resumed(accepted, now=now, build=build):
            return decided
        require_valid(work)
        owner = work.owner()
        obj = work.obj
        references = owner_references(obj)
        if decided := claim.restored_owner(labels(obj), references, owner):
            return decided
        if postponed := run_prechecks(work, owner):
            return Decision((KeepReady(),), Requeue(postponed.after_seconds))
        identity = identify(work, owner)
        work.require_subscription(identity.arm_id)
        require_sole(work, identity.arm_id)
        body = payload_of(work, identity)
        put = Put(
            identity.arm_id,
            body,
            digest(identity.arm_id, work.version.api_version, body),
            note_of_put(work, identity, body),
        )
        facts = begin.PutFacts(
            put=put,
            generation=work.session.generation,
            accepted=accepted,
            sync=facts_of_sync(work, identity, body) if accepted is None else None,
            now=now,
            build=build,
        )
        return begin.before_put(facts)

    def _put(self, put: Put) -> Decision:
        work = self._work
        work.session.confirm()
        for effect in begin.credential_used(
            work.connection.source, before=work.memory.credential
        ):
            apply(work, effect)
        work.log.info("Putting resource", armId=put.arm_id)
        answer: ArmOutcome | ArmError
        try:
            answer = self._send(put)
        except ArmError as error:
            answer = error
        facts = begin.PutAnswer(
            put=put,
            answer=answer,
            generation=work.session.generation,
            stored=annotations(work.obj),
            before=status(work.obj),
            arm_type=work.version.arm_type,
            inputs=work.references.mark(),
            rests_on=work.context.rests_on,
            was_absent=work.context.is_known_absent,
            overtaken=work.memory.overtaken,
            now=work.operator.clock.monotonic(),
            build=work.operator.build,
        )
        return begin.after_put(facts)

    def _send(self, put: Put) -> ArmOutcome:
        """The PUT itself. Where the body carries what was read, it goes out only while
        that holds: by the ETag of what was read, else by turns.
        """
        work = self._work
        rests_on = work.context.rests_on
        headers = {"If-Match": rests_on} if rests_on else {}
        turns = work.operator.turns
        with ExitStack() as stack:
            if rests_on == "" and self._reading is not None:
                stack.enter_context(turns.alone(self._reading))
            stack.enter_context(turns.writing(put.arm_id))
            # From here on Azure may have this body, whatever its answer and what it
            # had before.
            work.memory.accepted = None
            return work.connection.client.put(
                put.arm_id, work.version.api_version, put.body, headers=headers
            )

    # A running operation.

    def _poll(self) -> Decision:
        work, watched = self._work, self._watched()
        if decided := monitor.before_poll(watched):
            return decided
        progress = watched.poll.progress
        outcome = work.connection.client.poll(watched.token(), progress)
        self._look_at_inputs(outcome)
        return monitor.after_poll(watched, outcome)

    def _judge(self, action: Judge) -> Decision:
        work, watched, undecided = self._work, self._watched(), action.undecided
        refusal = undecided.error
        refused = {"error": str(refusal)} if refusal else {}
        work.log.info(
            "Reading the resource instead of its monitor",
            why=undecided.reason,
            **refused,
        )
        try:
            outcome = work.connection.client.judge(
                work.arm_id,
                work.version.api_version,
                deleting=undecided.deleting,
                progress=watched.poll.progress,
            )
        except (ArmError, ArmTransportError, RetryError) as unread:
            if refusal is None:
                raise
            # The monitor's words tell more.
            raise monitor_refused(work, refusal, unread) from refusal
        self._look_at_inputs(outcome)
        return monitor.after_judging(watched, undecided, outcome)

    def _watched(self) -> monitor.Watched:
        work = self._work
        return monitor.Watched(
            arm_id=work.arm_id,
            api_version=work.version.api_version,
            stored=annotations(work.obj),
            deleting=is_deleting(work.obj),
            generation=work.session.generation,
            poll=work.memory.poll,
            accepted=work.memory.accepted,
            now=work.operator.clock.monotonic(),
        )

    def _look_at_inputs(self, outcome: ArmOutcome) -> None:
        """A PUT that came to nothing speaks of the inputs that it was made of."""
        if isinstance(outcome, Failed | Restart) and not is_deleting(self._work.obj):
            self._work.inputs_changed = inputs_changed(self._work)

    # The resource as it is.

    def _read(self, action: Read) -> Decision:
        work = self._work
        work.require_subscription(work.arm_id)
        require_own(work)
        before = status(work.obj)
        observed = observed_status(work, action.body)
        if observed is not None:
            work.session.replace_status(observed)
        facts = success.ReadFacts(
            arm_id=work.arm_id,
            follows=action.follows,
            is_there=observed is not None,
            before=before,
            after=work.session.status,
            stored=annotations(work.obj),
            accepted=work.memory.accepted,
        )
        return success.after_read(facts)

    def _check(self, follows: Follows) -> Decision:
        work = self._work
        extensions, gk = work.operator.extensions, work.kind.group_kind
        result: requests.PostResult = requests.Ready()
        if extensions.has(POST_RECONCILE, gk):
            owner = work.owner()
            result = extensions.chain(POST_RECONCILE, gk)(
                requests.PostReconcile(
                    ctx=work.context,
                    obj=self._current(),
                    owner=None if owner is None else owner.obj,
                )
            )
        usable = isinstance(result, requests.Ready)
        return success.after_check(
            result,
            follows=follows,
            stored=annotations(work.obj),
            learned=learned(work) if usable and follows is not Follows.NOTHING else (),
        )

    def _export(self, follows: Follows) -> Decision:
        """The last that may fail: what was exported is noted with the next write, and
        would be fetched again without that.
        """
        work = self._work
        current = self._current()
        export(work, current)
        chain = work.operator.extensions.chain(EVERY_SUCCESS, work.kind.group_kind)
        work.session.annotate(chain(requests.Success(ctx=work.context, obj=current)))
        was_running = follows is Follows.OPERATION
        facts = success.EndFacts(
            follows=follows,
            stored=annotations(work.obj),
            generation=generation(work.obj),
            inputs_changed=was_running and inputs_changed(work),
        )
        return success.after_export(facts)

    def _current(self) -> JsonObject:
        return {**self._work.obj, "status": self._work.session.status}

    # Deletion.

    def _prepare_delete(self) -> Decision:
        work = self._work
        work.require_subscription(work.arm_id)
        of_type = delete.is_of_type(work.arm_id, work.version.arm_type)
        own = of_type and is_own(work)
        facts = delete.DeleteFacts(
            arm_id=work.arm_id,
            arm_type=work.version.arm_type,
            is_own=own,
            older=holder(work, work.arm_id) if own else None,
            seen=self._seen(),
        )
        return delete.before_delete(facts)

    def _delete(self) -> Decision:
        work = self._work
        chain = work.operator.extensions.chain(DELETE, work.kind.group_kind)
        work.log.info("Deleting resource", armId=work.arm_id)
        answer: requests.DeleteResult | ArmError
        try:
            with work.operator.turns.writing(work.arm_id):
                answer = chain(requests.DeleteRequest(ctx=work.context, obj=work.obj))
        except ArmError as error:
            answer = error
        return delete.after_delete(
            answer,
            stored=annotations(work.obj),
            now=work.operator.clock.monotonic(),
        )

    def _release(self) -> Decision:
        work = self._work
        work.operator.forget(work.kind, work.key)
        return delete.released(
            finalizers(work.obj), arm_id=work.arm_id, seen=self._seen()
        )

    def _seen(self) -> str:
        """The id that the status shows."""
        return str(status(self._work.obj).get("id") or "")
