"""Reads a resource at a sync, and collects the facts for `drift` to decide.

Blocking: reads of Azure.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from math import inf

import attrs

from asoreconcile.azure.catalogue.body_shape import body_shape
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.reconcile.identity.identity import identify
from asoreconcile.azure.reconcile.model.annotations import LATEST_RECONCILED_GENERATION
from asoreconcile.azure.reconcile.model.conditions import DRIFTED, find_ready
from asoreconcile.azure.reconcile.model.decisions import (
    Effect,
    Keep,
    ReadAfter,
    SetMetadata,
    Succeeded,
)
from asoreconcile.azure.reconcile.model.differences import (
    Difference,
    changed_paths,
    differences,
)
from asoreconcile.azure.reconcile.model.distinctions import distinctions_of
from asoreconcile.azure.reconcile.model.drift_baseline import (
    OBSERVED,
    UNSETTLED,
    DriftBaseline,
    loads,
    marks,
)
from asoreconcile.azure.reconcile.model.first_creation import was_there
from asoreconcile.azure.reconcile.model.normalization import is_same
from asoreconcile.azure.reconcile.model.snapshot import snapshot
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.model.type_rules import not_kept
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.export_cache import (
    EXPORTED,
    seconds_until_renewal,
)
from asoreconcile.azure.reconcile.state.sync_schedule import (
    is_put_due,
    seconds_until_missed_sync,
    seconds_until_sync,
)
from asoreconcile.azure.reconcile.sync.bulk_reads import ListLook, looked
from asoreconcile.azure.reconcile.sync.desired import (
    Desired,
    child_collections,
    desired,
    render,
)
from asoreconcile.azure.reconcile.sync.drift import (
    GONE,
    SyncFacts,
    after_own_put,
    failed_state,
    is_moving,
)
from asoreconcile.base.errors import AsoreconcileError, StoppedError
from asoreconcile.base.objects import JsonObject, status, uid_of

_TIME = "%Y-%m-%dT%H:%M:%SZ"
# Without a sync period. A sync may come somewhat before a whole period is over.
_PERIOD_SECONDS = 3600.0
_OF_THE_PERIOD = 0.7


def ready_of_last_put(patcher: PatchHelper) -> JsonObject | None:
    """The Ready condition if a PUT of this generation of the spec was recorded and the
    condition is about it, else None.
    """
    put = patcher.annotations.get(LATEST_RECONCILED_GENERATION)
    ready = find_ready(status(patcher.obj).get("conditions")) or {}
    is_of_put = ready.get("observedGeneration") == patcher.generation
    return ready if is_of_put and put == str(patcher.generation) else None


def reads_first(
    patcher: PatchHelper,
    mode: SyncMode,
    ready: JsonObject | None,
    observed: DriftBaseline | None,
) -> bool:
    """Return whether a sync reads before it PUTs: a PUT of this spec has completed.

    ready: the result of `ready_of_last_put`. observed: the record of the last PUT. With
    a snapshot it shows that the PUT was followed to its end. A later failure, such as
    that of a read during an outage of Azure, then causes no other PUT.
    """
    if mode is SyncMode.PUT or "Get" not in patcher.version.operations:
        return False
    is_followed = observed is not None and bool(observed.rest)
    if ready is not None and (ready.get("status") == "True" or is_followed):
        return True
    return mode is SyncMode.REPORT and _was_accepted(patcher)


def _was_accepted(patcher: PatchHelper) -> bool:
    """Whether Azure has accepted a PUT of this generation, or it was Ready or found
    gone: mode `report` then sends no other PUT of it, whatever Ready says.
    """
    if patcher.annotations.get(OBSERVED):
        put = patcher.annotations.get(LATEST_RECONCILED_GENERATION)
        return put == str(patcher.generation)
    ready = find_ready(status(patcher.obj).get("conditions")) or {}
    is_seen = ready.get("status") == "True" or ready.get("reason") == GONE
    return is_seen and ready.get("observedGeneration") == patcher.generation


def seconds_until_next_sync(
    scope: ReconcileScope, mode: SyncMode, *, was_synced: bool
) -> float | Keep | None:
    """Seconds until this object's time in the sync period, or until a credential that
    it exports must be renewed; None without either. KEEP if each sync PUTs.

    was_synced: this reconcile has synced it.
    """
    period = scope.sync_period_seconds
    now = scope.operator.clock.now().timestamp()
    exported = scope.patcher.annotations.get(EXPORTED)
    renewal = seconds_until_renewal(exported, now=now) if exported else None
    if mode is SyncMode.PUT:
        is_sooner = renewal is not None and (period is None or renewal < period)
        return renewal if is_sooner else Keep.KEEP
    if period is None:
        return renewal
    seconds = seconds_until_sync(
        uid_of(scope.patcher.obj),
        period_seconds=period,
        now=now,
        was_synced=was_synced,
    )
    soonest = min(seconds, _seconds_until_repair(scope))
    return soonest if renewal is None else min(soonest, renewal)


def _seconds_until_repair(scope: ReconcileScope) -> float:
    """Seconds until the next maintenance window if a difference waits for it: OW-7."""
    closed = scope.closed
    conditions = scope.patcher.status.get("conditions") or ()
    if closed is None or closed.until is None:
        return inf
    if not any(one.get("type") == DRIFTED for one in conditions):
        return inf
    return max((closed.until - scope.operator.clock.now()).total_seconds(), 1.0)


def resumable(
    scope: ReconcileScope, mode: SyncMode, ready: JsonObject | None
) -> DriftBaseline | None:
    """The record of a resource that another process may have left in order; None after
    this process has reconciled the object once, if a person asks for a reconcile, and
    if there is more to do.

    ready: the result of `ready_of_last_put`.
    """
    is_first, scope.memory.was_looked_at = not scope.memory.was_looked_at, True
    if not is_first or mode is SyncMode.PUT:
        return None
    if scope.asked:
        return None
    if ready is None or ready.get("status") != "True":
        return None
    observed = loads(scope.patcher.annotations.get(OBSERVED) or "")
    # Without a snapshot the last PUT was not followed to its end.
    is_whole = observed is not None and observed.spec and observed.rest
    return observed if is_whole else None


def resumed_period(scope: ReconcileScope, mode: SyncMode) -> Succeeded:
    """Only wait: another process left the object Ready, and no input of its PUT has
    changed.
    """
    scope.operator.count_sync("resumed", False)
    missed = _seconds_until_missed_sync(scope)
    if missed is not None:
        return Succeeded(missed)
    return Succeeded(seconds_until_next_sync(scope, mode, was_synced=False))


def _seconds_until_missed_sync(scope: ReconcileScope) -> float | None:
    """Seconds until the sync of an object whose time passed while no process ran; None
    if it did not pass, or that is unknown.
    """
    period = scope.sync_period_seconds
    before = scope.operator.predecessor_renewed()
    if period is None or before is None:
        return None
    return seconds_until_missed_sync(
        uid_of(scope.patcher.obj),
        period_seconds=period,
        now=scope.operator.clock.now().timestamp(),
        last_alive=before.timestamp(),
    )


def baseline_of_put(
    scope: ReconcileScope, observed: DriftBaseline | None, made: Desired
) -> DriftBaseline:
    """Return the record of a PUT before its answer. observed: the record of the PUT
    before.
    """
    put = made.fingerprint
    known = observed.known if observed and observed.put == put else frozenset()
    at = scope.operator.clock.now().astimezone(UTC).strftime(_TIME)
    # No snapshot: it is taken once the PUT has settled.
    return DriftBaseline(put, known, spec=made.inputs, at=at)


def baseline_of_adoption(
    scope: ReconcileScope,
    made: Desired,
    have: JsonObject,
    unseen: Iterable[Difference],
) -> DriftBaseline:
    """Return the record of a resource that was adopted without a PUT: as after a PUT
    that left it as it is. unseen: values that Azure does not show.
    """
    put = baseline_of_put(scope, None, made)
    return attrs.evolve(put, known=marks(unseen), rest=_snapshot(scope, made, have))


def facts_of_sync(
    scope: ReconcileScope,
    mode: SyncMode,
    look: ListLook,
    made: Desired,
    *,
    observed: DriftBaseline | None,
) -> SyncFacts:
    """Read the resource by one GET, which the reconcile shares, and compare it.

    observed: the record of the last PUT. Raises ArmError, ArmTransportError.
    """
    operator, memory, put = scope.operator, scope.memory, made.fingerprint
    is_another = observed is not None and observed.put != put
    have = None if is_another else scope.context.raw_get()
    found: list[Difference] = []
    rest = ""
    changed: tuple[str, ...] = ()
    if have is not None:
        looked(scope, look, have)
        found = compared(scope, made, have)
        rest = _snapshot(scope, made, have)
        if observed is not None and observed.rest != rest:
            changed = _changed(scope, have)
    return SyncFacts(
        mode=mode,
        put=put,
        observed=observed,
        have=have,
        found=found,
        repair_attempts=memory.repair_attempts,
        rest=rest,
        spec=made.inputs,
        is_forced=_is_forced(scope, observed, made, found),
        undeclared=operator.undeclared,
        changed=changed,
        now=operator.clock.monotonic(),
        is_period_over=_is_period_over(scope, observed),
        region="" if have is None else _another_region(made.own, have),
        was_there=have is not None or was_there(status(scope.patcher.obj)),
    )


def _is_period_over(scope: ReconcileScope, observed: DriftBaseline | None) -> bool:
    """Return whether the last PUT is a sync period old, or its time is not known."""
    period = scope.kind.requeue_backoff.sync_period_seconds or _PERIOD_SECONDS
    at = _time_of(observed)
    now = scope.operator.clock.now().timestamp()
    return at is None or now - at >= _OF_THE_PERIOD * period


def _another_region(want: JsonObject, have: JsonObject) -> str:
    """The declared location if the resource is in another one, else ""."""
    declared, found = want.get("location"), have.get("location")
    if not (isinstance(declared, str) and isinstance(found, str) and found):
        return ""
    return "" if is_same(declared, found) else declared


def learned(
    scope: ReconcileScope,
    mode: SyncMode,
    after: ReadAfter,
    sent: Desired | None,
) -> tuple[Effect, ...]:
    """The record of the resource after a PUT, if it was read after one.

    sent: the PUT, if this reconcile sent it. Raises StoppedError.
    """
    patcher = scope.patcher
    is_after_put = scope.memory.accepted is not None or after is ReadAfter.OPERATION
    if not is_after_put or mode is SyncMode.PUT:
        return ()
    observed = loads(patcher.annotations.get(OBSERVED) or "")
    if observed is None or "Get" not in patcher.version.operations:
        return ()
    try:
        made = sent or _made_now(scope)
        have = scope.context.raw_get() or {}
    # It is an AsoreconcileError, too, but not a failure.
    except StoppedError:
        raise
    except AsoreconcileError as error:
        scope.log.info("Cannot tell what the PUT left", reason=str(error))
        return ()
    if is_moving(have):
        return ()
    if failed_state(have):
        # A failed resource shows values that later reads must not be compared with.
        note = attrs.evolve(observed, rest=UNSETTLED)
        return (SetMetadata({OBSERVED: note.dumps()}),)
    return after_own_put(
        scope.memory.repair_attempts,
        observed,
        compared(scope, made, have),
        _snapshot(scope, made, have),
    )


def _made_now(scope: ReconcileScope) -> Desired:
    patcher, references = scope.patcher, scope.references
    rendered = render(patcher, references, identify(scope, scope.owner()))
    operator = scope.operator
    return desired(operator, scope.context, patcher.obj, rendered, references)


def _changed(scope: ReconcileScope, have: JsonObject) -> tuple[str, ...]:
    """The paths at which the stored status differs from what was read."""
    before = {**status(scope.patcher.obj), "conditions": None}
    after = {**status_of(scope.patcher.version, have), "conditions": None}
    return changed_paths(before, after)


def _is_forced(
    scope: ReconcileScope,
    observed: DriftBaseline | None,
    made: Desired,
    found: Iterable[Difference],
) -> bool:
    """Whether the last PUT is too old, for a resource of which Azure does not show
    every value.
    """
    period = scope.operator.force_put_seconds
    if period is None:
        return False
    if made.own == made.body and not any(one.kind == "absent" for one in found):
        return False
    last_put = _time_of(observed)
    if last_put is None:
        return True  # PUT by another operator, or before times were recorded
    return is_put_due(
        uid_of(scope.patcher.obj),
        last_put=last_put,
        period_seconds=period,
        now=scope.operator.clock.now().timestamp(),
    )


def _time_of(observed: DriftBaseline | None) -> float | None:
    """The time of the last PUT, in seconds since the epoch; None if not known."""
    try:
        text = "" if observed is None else observed.at
        return datetime.strptime(text, _TIME).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def compared(
    scope: ReconcileScope, made: Desired, have: JsonObject
) -> list[Difference]:
    """Return the differences between the body and the resource, without those that are
    known for the type.
    """
    version = scope.patcher.version
    found = differences(
        made.own,
        have,
        children=child_collections(version, scope.operator.catalogue),
        free_maps=body_shape(version).free_maps,
        apart=distinctions_of(version),
    )
    return not_kept(version.arm_type, found)


def _snapshot(scope: ReconcileScope, made: Desired, have: JsonObject) -> str:
    version = scope.patcher.version
    return snapshot(
        body_shape(version),
        made.body,
        scope.references.without_secrets(have),
        children=child_collections(version, scope.operator.catalogue),
    )
