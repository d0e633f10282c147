"""The part of a reconcile that all kinds share: load, run, write the status.

Runs on worker threads, several at once, never two for one object. The step `run`
depends on the kind: `reconciler` has the one for ARM.
"""

from abc import ABC, abstractmethod
from contextlib import suppress
from functools import partial

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.correlation import correlated
from asoreconcile.azure.catalogue.conversion import KindConversionError
from asoreconcile.azure.middleware.context import SuboperationPending
from asoreconcile.azure.reconcile.engine.failures import (
    event_message,
    failure_of,
    has_owner,
    is_access_refused,
    is_worth_an_event,
    leaves_ready,
    report_unreadable,
)
from asoreconcile.azure.reconcile.identity.recorded_claim import close_claim
from asoreconcile.azure.reconcile.model.annotations import RECONCILED_AT
from asoreconcile.azure.reconcile.model.conditions import (
    ReadyCondition,
    find_ready,
    ready_of,
    succeeded,
)
from asoreconcile.azure.reconcile.model.decisions import (
    IN_PROGRESS_PRIORITY,
    Keep,
    ReconcileOutcome,
    Requeue,
    Stop,
    Succeeded,
)
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.policies import order
from asoreconcile.azure.reconcile.scope.next_look import (
    seconds_after_failure,
    seconds_until_next_sync,
)
from asoreconcile.azure.reconcile.scope.patch_helper import (
    GoneError,
    PatchHelper,
    StaleError,
)
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.shared_dependencies import (
    KindRuntime,
    SharedDependencies,
)
from asoreconcile.azure.reconcile.state.read_set import ReadSet, TrackingReader
from asoreconcile.base import reconcile_context
from asoreconcile.base.errors import RetryError, StoppedError
from asoreconcile.base.log import Logger, bound
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    is_deleting,
    key_of,
    uid_of,
)
from asoreconcile.cache.informer import Informer
from asoreconcile.cache.unreadable import known_of
from asoreconcile.kube.errors import ApiError, ConflictError, is_too_large
from asoreconcile.queue.workqueue import LOW_PRIORITY
from asoreconcile.runtime.reconciler import Request, Result

_log = Logger(__name__)

_BREAKS_THE_SCHEMA = 422


@attrs.frozen(eq=False)
class ObjectReconciler(ABC):
    """`runtime.reconciler.Reconciler` for one kind."""

    _operator: SharedDependencies
    _kind: KindRuntime
    _reader: Informer

    @abstractmethod
    def run(self, scope: ReconcileScope) -> ReconcileOutcome:
        """Reconcile one object. Raises the exceptions of `failure_of`."""

    def forget(self, key: ObjectKey) -> None:
        """Remove the state of an object that no longer exists. Must not block."""
        self._operator.forget(self._kind, key)

    def reconcile(self, request: Request) -> Result:
        """Reconcile one object once.

        Raises only errors after which no condition can be written: conflicts and
        failures of the Kubernetes API. The queue then backs off.
        """
        obj = self._reader.get(request.key)
        if obj is None:
            unreadable = self._kind.unreadable().get(request.key)
            if unreadable is not None:
                report_unreadable(
                    self._operator, self._kind, unreadable.known, unreadable.message
                )
            # Also reached if another client removed the object or the finalizer.
            self.forget(request.key)
            return Result()
        with (
            correlated(reconcile_context.reconcile_id()),
            bound(namespace=request.key.namespace),  # log records hide its secrets
            self._kind.in_flight_reads.during(request.key) as read_set,
        ):
            try:
                scope = self._scope(obj, read_set)
            except KindConversionError as error:
                known = known_of(obj, self._kind.resource)
                report_unreadable(self._operator, self._kind, known, str(error))
                return Result()
            try:
                result = self._reconcile(scope)
            # The newer object is in the cache: the read that found it stored it.
            except StaleError as stale:
                result = Result(requeue_after_seconds=stale.after_seconds)
            is_continued = result.priority == IN_PROGRESS_PRIORITY
            # A raised priority was meant for one reconcile. A requeue would keep it
            # (PQ-7), ahead of objects that people change.
            if not is_continued and scope.memory.recent_writes.end():
                result = attrs.evolve(result, priority=result.priority or 0)
        return result

    def _reconcile(self, scope: ReconcileScope) -> Result:
        try:
            outcome = self.run(scope)
            if scope.asked and _is_handled(scope, outcome):
                scope.patcher.annotate({RECONCILED_AT: scope.asked})
            # Before the status: the record of a PUT is in the cluster before Ready is
            # shown.
            if not isinstance(outcome, Stop):
                scope.patcher.flush()
        except GoneError:
            self.forget(scope.patcher.key)
            outcome = Stop()
        except SuboperationPending as pending:
            # The object is not Ready yet, so earlier failures still count (R4.3).
            return self._commit(
                scope, Result(requeue_after_seconds=pending.after_seconds)
            )
        # After a conflict a condition would be refused; during a shutdown it would not
        # be read.
        except (ConflictError, StaleError):
            raise
        except StoppedError:
            _warn_of_stop(scope)
            raise
        except RetryError as error:
            outcome = Requeue(error.after_seconds)
        except Exception as error:
            failure = failure_of(scope.errors, error)
            if failure is None:
                # A write may time out just before the time of the stop is over.
                if reconcile_context.is_stop_requested():
                    _warn_of_stop(scope)
                raise
            return self._fail(scope, failure)
        return self._result_of(scope, outcome)

    def _scope(self, obj: JsonObject, read_set: ReadSet) -> ReconcileScope:
        memory = self._kind.memories.of(key_of(obj), uid_of(obj))
        patcher = PatchHelper(
            obj,
            resource=self._kind.resource,
            client=self._operator.client,
            cache=self._kind.cache,
            form=self._kind.form,
            clock=self._operator.clock,
            is_live=memory.recent_writes.is_as_written(
                obj, now=self._operator.clock.monotonic()
            ),
        )
        scope = ReconcileScope(
            self._operator,
            self._kind,
            patcher,
            log=_log,
            memory=memory,
            objects=TrackingReader(self._operator.objects, read_set),
            began=self._operator.clock.monotonic(),
            read_set=read_set,
        )
        scope.permit = partial(order.permit, scope, is_delete=is_deleting(obj))
        return scope

    def _result_of(self, scope: ReconcileScope, outcome: ReconcileOutcome) -> Result:
        match outcome:
            case Stop():
                result = Result()
            case Requeue(after_seconds=after_seconds, priority=priority):
                result = Result(requeue_after_seconds=after_seconds, priority=priority)
                result = self._commit(scope, result)
            case Succeeded(resync_seconds=resync):
                scope.patcher.set_ready(succeeded(scope.patcher.generation))
                if isinstance(resync, Keep):
                    mode = SyncMode.PUT
                    resync = seconds_until_next_sync(scope, mode, was_synced=True)
                result = Result(requeue_after_seconds=resync, priority=LOW_PRIORITY)
                result = self._commit(scope, result)
                # Only once the status is stored: until then a retry must not PUT again.
                scope.memory.settled()
        scope.memory.reset_failures()
        return result

    def _fail(self, scope: ReconcileScope, error: ConditionError) -> Result:
        """Show a failure in Ready, unless Ready may stay as it is (`leaves_ready`), and
        return the retry that the error's class asks for.
        Rules: R4.1, R7.3.
        """
        patcher, memory = scope.patcher, scope.memory
        before = ready_of(patcher.obj)
        is_left = leaves_ready(patcher, memory, error)
        if is_left:
            patcher.restore_ready()
        else:
            shown = ReadyCondition(
                "False", error.reason, error.severity, str(error), patcher.generation
            )
            patcher.set_ready(shown)
        is_repeated = find_ready(patcher.status["conditions"]) == before
        seconds = memory.record_failure(self._operator.clock.monotonic())
        # A value of `reconcile-at` is attempted once; a failure before the PUT is
        # retried.
        if scope.asked and (scope.is_attempted or error.severity == "Error"):
            patcher.annotate({RECONCILED_AT: scope.asked})
        delay = seconds_after_failure(scope, error)
        log = scope.log.info if error.severity == "Info" else scope.log.warning
        log(
            "Reconcile failed" if error.severity != "Info" else "Reconcile waits",
            reason=error.reason,
            severity=error.severity,
            condition=str(error),
            attempt=memory.attempts,
            failingSeconds=round(seconds, 1),
        )
        owner_is_there = error.reason == "WaitingForOwner" and has_owner(
            patcher, scope.objects
        )
        # Each time: its count and last time show the latest attempt, and the condition
        # keeps the time of the first one.
        if not is_left and is_worth_an_event(
            error, seconds, owner_is_there=owner_is_there
        ):
            action = "Delete" if is_deleting(patcher.obj) else "CreateOrUpdate"
            text = event_message(
                error,
                patcher.key.namespace,
                credential=scope.connection.source if is_access_refused(error) else "",
                is_repeated=is_repeated,
            )
            scope.event("Warning", f"{action}ActionError", text)
        # Otherwise the record stays, and so does the protection that it gives.
        with suppress(ConditionError, ApiError, GoneError):
            close_claim(scope)
        return self._commit(scope, Result(requeue_after_seconds=delay))

    def _commit(self, scope: ReconcileScope, result: Result) -> Result:
        try:
            self._write_status(scope)
        except GoneError:
            self.forget(scope.patcher.key)
            return Result()
        return result

    def _write_status(self, scope: ReconcileScope) -> None:
        """Write the status, or only the part that the cluster accepts.

        Ready is written even if Azure's part is too large or violates the schema.
        """
        patcher = scope.patcher
        if dropped := patcher.fit_status():
            names = ", ".join(f"status.{name}" for name in dropped)
            text = (
                f"what Azure reports is more than the cluster stores; without {names}"
            )
            scope.event("Warning", "StatusTooLarge", text)
        # Write only the conditions: first with the stored status, then without it.
        lighter = iter((False, True))
        while True:
            try:
                return patcher.commit()
            except ApiError as error:
                is_broken = error.status == _BREAKS_THE_SCHEMA
                stored = next(lighter, None)
                if stored is None or not (is_broken or is_too_large(error)):
                    raise
                scope.log.error(
                    "Status refused; its conditions alone", reason=str(error)
                )
            patcher.drop_observed(stored=stored)


def _is_handled(scope: ReconcileScope, outcome: ReconcileOutcome) -> bool:
    """Return whether a value of `reconcile-at` has had its attempt: the object is in
    order, or Azure has accepted its PUT. A recreation goes on.
    """
    if isinstance(outcome, Succeeded):
        return True
    is_accepted = scope.is_attempted and scope.memory.accepted is not None
    return is_accepted and not is_deleting(scope.patcher.obj)


def _warn_of_stop(scope: ReconcileScope) -> None:
    scope.log.warning(
        "Stopped in the middle of a reconcile: the next process starts it again,"
        " and repeats a write of which nothing is recorded",
        armId=scope.patcher.arm_id,
    )
