"""The reconciler of one Azure kind: load, plan, execute, write the status.

Runs on worker threads, several at once, never two for one object. A reconcile makes at
most one write to Azure or one poll, and never waits.
"""

from typing import Protocol

import attrs

from asoreconcile import reconcile_context
from asoreconcile.arm.condition_error import ConditionError
from asoreconcile.arm.correlation import correlated
from asoreconcile.azure.annotations import RECONCILE_POLICY
from asoreconcile.azure.conditions import find_ready, succeeded
from asoreconcile.azure.decisions import (
    AT_ONCE_SECONDS,
    BEGUN_PRIORITY,
    Effect,
    ReconcileOutcome,
    Requeue,
    Stop,
    Succeeded,
)
from asoreconcile.azure.effects import apply
from asoreconcile.azure.execute import execute
from asoreconcile.azure.failure_report import after_failure, shown
from asoreconcile.azure.failures import facts_of_failure, failure_of
from asoreconcile.azure.misunderstood import misunderstood
from asoreconcile.azure.patch_helper import GoneError, PatchHelper, StaleError
from asoreconcile.azure.plan import plan
from asoreconcile.azure.policy import Policy, policy_of
from asoreconcile.azure.read_set import ReadSet
from asoreconcile.azure.scope import KindRuntime, ReconcileScope, SharedDependencies
from asoreconcile.azure.sync_mode import SYNC_MODE
from asoreconcile.azure.unreadable import tell_unreadable
from asoreconcile.cache.unreadable import known_of
from asoreconcile.catalogue.conversion import KindConversionError
from asoreconcile.errors import RetryError, StoppedError
from asoreconcile.kube.errors import ApiError, ConflictError, is_too_large
from asoreconcile.log import Logger, bound
from asoreconcile.middleware.context import SuboperationPending
from asoreconcile.objects import (
    JsonObject,
    ObjectKey,
    annotations,
    key_of,
    status,
    uid_of,
)
from asoreconcile.queue.workqueue import LOW_PRIORITY
from asoreconcile.runtime.reconciler import Request, Result

_log = Logger(__name__)

_BREAKS_THE_SCHEMA = 422


class ObjectReader(Protocol):
    """The kind's cache (`cache.informer.Informer`)."""

    def get(self, key: ObjectKey) -> JsonObject | None: ...


class ArmReconciler:
    """`runtime.reconciler.Reconciler` for one kind."""

    def __init__(
        self, operator: SharedDependencies, kind: KindRuntime, reader: ObjectReader
    ) -> None:
        self._operator = operator
        self._kind = kind
        self._reader = reader

    def reconcile(self, request: Request) -> Result:
        """One reconcile. Raises only what the queue should back off from: conflicts,
        and trouble with the Kubernetes API, which leave nowhere to write a condition.
        """
        obj = self._reader.get(request.key)
        if obj is None:
            unreadable = self._kind.unreadable().get(request.key)
            if unreadable is not None:
                self._tell_unreadable(unreadable.known, unreadable.message)
            # Whoever took it away: a deletion that we did not end comes by here, too.
            self._operator.forget(self._kind, request.key)
            return Result()
        with (
            correlated(reconcile_context.reconcile_id()),
            bound(namespace=request.key.namespace),  # whose secrets no record shows
            self._kind.in_flight_reads.during(request.key) as glances,
        ):
            try:
                work = self._work(obj, glances)
            except KindConversionError as error:
                self._tell_unreadable(known_of(obj, self._kind.resource), str(error))
                return Result()
            result = self._pass(work)
        return self._in_turn(work, result)

    def _tell_unreadable(self, known: JsonObject, message: str) -> None:
        tell_unreadable(self._operator, self._kind, known, message)

    def _in_turn(self, work: ReconcileScope, result: Result) -> Result:
        """Let go of a higher place in the queue that was for one look: it would be kept
        from look to look (PQ-7), before what people change.
        """
        if result.priority == BEGUN_PRIORITY:
            return result
        was_begun = work.memory.begun.end()
        if was_begun and result.priority is None:
            return attrs.evolve(result, priority=0)
        return result

    def _pass(self, work: ReconcileScope) -> Result:
        try:
            outcome = self._run(work)
        except GoneError:
            self._operator.forget(self._kind, work.key)
            return self._finish(work, Stop())
        except StaleError:
            return Result(requeue_after_seconds=AT_ONCE_SECONDS)
        except SuboperationPending as pending:
            # Not in order yet: what failed before still counts (R4.3).
            return self._commit(
                work, Result(requeue_after_seconds=pending.after_seconds)
            )
        except (ConflictError, StoppedError):
            raise
        except RetryError as error:
            return self._finish(work, Requeue(error.after_seconds))
        except Exception as error:
            failure = failure_of(work, error)
            if failure is None:
                raise
            return self._fail(work, failure)
        return self._finish(work, outcome)

    def _work(self, obj: JsonObject, glances: ReadSet) -> ReconcileScope:
        memory = self._kind.memories.of(key_of(obj), uid_of(obj))
        session = PatchHelper(
            obj,
            resource=self._kind.resource,
            client=self._operator.client,
            cache=self._kind.cache,
            form=self._kind.form,
            clock=self._operator.clock,
            is_live=memory.begun.is_as_written(
                obj, now=self._operator.clock.monotonic()
            ),
        )
        return ReconcileScope(
            self._operator,
            self._kind,
            session,
            log=_log,
            glances=glances,
            memory=memory,
        )

    def _run(self, work: ReconcileScope) -> ReconcileOutcome:
        decided = plan(
            work.obj,
            policy=self._policy(work),
            operator_namespace=self._operator.namespace,
            can_delete="Delete" in work.version.operations,
        )
        if not isinstance(decided.then, Stop):
            effects = (*self._misunderstood(work), *decided.effects)
            decided = attrs.evolve(decided, effects=effects)
        outcome = execute(work, decided)
        if not isinstance(outcome, Stop):
            work.session.flush()
        return outcome

    def _misunderstood(self, work: ReconcileScope) -> tuple[Effect, ...]:
        operator = self._operator
        return misunderstood(
            annotations(work.obj),
            operator.namespace_annotations(work.key.namespace),
            defaults={
                RECONCILE_POLICY: operator.default_policy,
                SYNC_MODE: operator.sync_mode,
            },
            known=work.memory.misunderstood,
        )

    def _policy(self, work: ReconcileScope) -> Policy:
        policy, _ = policy_of(
            annotations(work.obj),
            self._operator.namespace_annotations(work.key.namespace),
            self._operator.default_policy,
        )
        return policy

    def _finish(self, work: ReconcileScope, outcome: ReconcileOutcome) -> Result:
        self._kind.intervals.succeeded(work.memory)
        work.memory.trouble.ends()
        return self._end(work, outcome)

    def _end(self, work: ReconcileScope, outcome: ReconcileOutcome) -> Result:
        match outcome:
            case Stop():
                return Result()
            case Requeue(after_seconds=after_seconds, priority=priority):
                result = Result(requeue_after_seconds=after_seconds, priority=priority)
                return self._commit(work, result)
            case Succeeded():
                work.session.set_ready(succeeded(work.session.generation))
                resync = self._kind.intervals.resync()
                result = self._commit(
                    work, Result(requeue_after_seconds=resync, priority=LOW_PRIORITY)
                )
                # Not before the status is stored: until then a retry must not PUT
                # again.
                work.memory.settled()
                return result

    def _fail(self, work: ReconcileScope, error: ConditionError) -> Result:
        """Show the failure, and try again as its class says. Rules: 3c, 4d."""
        before = find_ready(status(work.obj).get("conditions"))
        apply(work, shown(error, work.session.generation))
        after = find_ready(work.session.status["conditions"])
        facts = facts_of_failure(work, error, is_repeated=after == before)
        work.log.warning(
            "Reconcile failed",
            reason=error.reason,
            severity=error.severity,
            condition=str(error),
            attempt=work.memory.trouble.attempts,
            failingSeconds=round(facts.seconds, 1),
        )
        return self._end(work, execute(work, after_failure(facts)))

    def _commit(self, work: ReconcileScope, result: Result) -> Result:
        try:
            self._write_status(work)
        except GoneError:
            self._operator.forget(self._kind, work.key)
            return Result()
        return result

    def _write_status(self, work: ReconcileScope) -> None:
        """Write the status, or what of it the cluster takes: Ready is not lost with
        what Azure says, should that be too much or break the schema.
        """
        session = work.session
        if dropped := session.fit_status():
            names = ", ".join(f"status.{name}" for name in dropped)
            text = (
                f"what Azure reports is more than the cluster stores; without {names}"
            )
            work.event("Warning", "StatusTooLarge", text)
        # The conditions alone: first beside what is stored, then in its place.
        lighter = iter((False, True))
        while True:
            try:
                return session.commit()
            except ApiError as error:
                stored = next(lighter, None)
                if stored is None or not _cannot_be_stored(error):
                    raise
                work.log.error(
                    "Status refused; its conditions alone", reason=str(error)
                )
            session.drop_observed(stored=stored)


def _cannot_be_stored(error: ApiError) -> bool:
    return error.status == _BREAKS_THE_SCHEMA or is_too_large(error)
