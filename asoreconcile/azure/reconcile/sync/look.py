"""Reads a resource at a sync, and collects the facts for `drift` to decide.

Blocking: reads of Azure.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from math import inf

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.body_shape import body_shape
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.middleware.declared import IDENTITIES, names_at
from asoreconcile.azure.reconcile.identity.identity import identify
from asoreconcile.azure.reconcile.model.annotations import LATEST_RECONCILED_GENERATION
from asoreconcile.azure.reconcile.model.conditions import DRIFTED, find_ready
from asoreconcile.azure.reconcile.model.decisions import (
    CountSync,
    Decision,
    Effect,
    Keep,
    Put,
    Read,
    ReadAfter,
    SetMetadata,
    Succeeded,
    UpdateMemory,
)
from asoreconcile.azure.reconcile.model.differences import (
    Difference,
    changed_paths,
    differences,
    hidden_values,
)
from asoreconcile.azure.reconcile.model.distinctions import distinctions_of
from asoreconcile.azure.reconcile.model.drift_baseline import (
    OBSERVED,
    UNSETTLED,
    DriftBaseline,
    confirmed,
    loads,
    marks,
)
from asoreconcile.azure.reconcile.model.first_creation import was_there
from asoreconcile.azure.reconcile.model.foreign_values import places_of
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
from asoreconcile.azure.reconcile.sync.bulk_reads import listed_in_order, note_get
from asoreconcile.azure.reconcile.sync.desired import (
    Desired,
    RenderedSpec,
    child_collections,
    desired,
    render,
)
from asoreconcile.azure.reconcile.sync.drift import (
    GONE,
    SyncFacts,
    after_own_put,
    at_sync,
    failed_state,
    is_moving,
)
from asoreconcile.azure.reconcile.sync.merging import merge
from asoreconcile.base.errors import AsoreconcileError, StoppedError
from asoreconcile.base.objects import JsonObject, status, uid_of

_TIME = "%Y-%m-%dT%H:%M:%SZ"
# Without a sync period. A sync may come somewhat before a whole period is over.
_PERIOD_SECONDS = 3600.0
_OF_THE_PERIOD = 0.7


def ready_of_last_put(patcher: PatchHelper) -> JsonObject | None:
    """Return the Ready condition if a PUT of this generation of the spec was recorded
    and the condition is about it, else None.
    """
    put = patcher.annotations.get(LATEST_RECONCILED_GENERATION)
    ready = find_ready(status(patcher.obj).get("conditions")) or {}
    is_of_put = ready.get("observedGeneration") == patcher.generation
    return ready if is_of_put and put == str(patcher.generation) else None


def is_recorded(
    patcher: PatchHelper, rendered: RenderedSpec, observed: DriftBaseline | None
) -> bool:
    """Return whether the last PUT, as the cluster records it, was accepted and is the
    one that the object makes now.
    """
    put = patcher.annotations.get(LATEST_RECONCILED_GENERATION)
    is_latest = put == str(patcher.generation)
    return is_latest and observed is not None and observed.put == rendered.fingerprint


def reads_first(
    patcher: PatchHelper,
    mode: SyncMode,
    ready: JsonObject | None,
    observed: DriftBaseline | None,
) -> bool:
    """Return whether a reconcile reads before it PUTs: a PUT of this generation was
    accepted, or another operator says so.

    ready: the result of `ready_of_last_put`. observed: the record of the last PUT. A
    later failure, such as that of a read during an outage of Azure, causes no PUT.
    """
    if mode is SyncMode.PUT or "Get" not in patcher.version.operations:
        return False
    put = patcher.annotations.get(LATEST_RECONCILED_GENERATION)
    is_latest = put == str(patcher.generation)
    is_accepted = is_latest and observed is not None and bool(observed.put)
    if is_accepted or (ready or {}).get("status") == "True":
        return True
    return mode is SyncMode.REPORT and _was_seen(patcher)


def _was_seen(patcher: PatchHelper) -> bool:
    """Return whether this generation was Ready or found gone: mode `report` then sends
    no other PUT of it, whatever Ready says.
    """
    ready = find_ready(status(patcher.obj).get("conditions")) or {}
    is_seen = ready.get("status") == "True" or ready.get("reason") == GONE
    return is_seen and ready.get("observedGeneration") == patcher.generation


def seconds_until_next_sync(
    scope: ReconcileScope, mode: SyncMode, *, was_synced: bool
) -> float | Keep | None:
    """Return seconds until this object's time in the sync period, or until a credential
    that it exports must be renewed; None without either. KEEP if each sync PUTs.

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
    """Return seconds until the next maintenance window if a difference waits for
    it: OW-7.
    """
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
    """Return the record of a resource that another process may have left in order; None
    after this process has reconciled the object once, if a person asks for a reconcile,
    and if there is more to do.

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
    return observed if observed is not None and observed.rest else None


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
    """Return seconds until the sync of an object whose time passed while no process
    ran; None if it did not pass, or that is unknown.
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


def baseline_of_adoption(
    scope: ReconcileScope,
    made: Desired,
    have: JsonObject,
    unseen: Iterable[Difference],
) -> DriftBaseline:
    """Return the record of a resource that was adopted without a PUT: as after a PUT
    that left it as it is. unseen: values that Azure does not show.
    """
    put = put_of(scope, SyncMode.COMPARE, made, None).record
    return attrs.evolve(put, known=marks(unseen), rest=_seen(scope, made, have)[1])


def put_of(
    scope: ReconcileScope,
    mode: SyncMode,
    made: Desired,
    observed: DriftBaseline | None,
) -> Put:
    """Return a PUT with the record to be written if Azure accepts it. observed: the
    record of the PUT before.
    """
    rendered = made.rendered
    put = rendered.fingerprint
    is_same = observed is not None and observed.put == put
    known = observed.known if observed is not None and is_same else frozenset()
    if observed is not None and is_same and mode is SyncMode.PUT:
        at = observed.at  # no write of metadata for each sync
    else:
        at = scope.operator.clock.now().astimezone(UTC).strftime(_TIME)
    declared = scope.context.declared
    # No snapshot: it is taken once the PUT has settled.
    record = DriftBaseline(
        put,
        known,
        notes=rendered.notes,
        at=at,
        secrets=rendered.secrets,
        declared=frozenset(declared.now),
        owed=declared.before - declared.now,
        places=places_of(made.own),
    )
    withdrawn = "" if observed is None or is_same else observed.withdrawn().dumps()
    return Put(rendered.identity.arm_id, made.body, record, withdrawn)


def in_order_by_list(
    scope: ReconcileScope, rendered: RenderedSpec, observed: DriftBaseline | None
) -> Decision | None:
    """Return the decision of a sync for which a list is enough; None if a GET is
    needed.

    observed: the record of the last PUT. Raises as `listed_in_order`.
    """
    if observed is None or is_put_too_old(scope, observed):
        return None
    is_same = (observed.put, observed.notes) == (rendered.fingerprint, rendered.notes)
    # A resource that has failed, and a value that the last PUT left, are put once more.
    is_settled = observed.rest not in ("", UNSETTLED)
    is_settled = is_settled and confirmed(observed.known) == observed.known
    if not is_same or not is_settled or (body := listed_in_order(scope)) is None:
        return None
    attempts = scope.memory.repair_attempts.in_order()
    effects = (UpdateMemory(repair_attempts=attempts), CountSync("unchanged"))
    return Decision(effects, Read(ReadAfter.PUT, body, is_listed=True))


def look(
    scope: ReconcileScope,
    mode: SyncMode,
    rendered: RenderedSpec,
    observed: DriftBaseline | None,
) -> tuple[Decision, Desired]:
    """Read the resource by one GET, which the reconcile shares, and compare it; return
    the decision, and the body that a PUT sends.

    observed: the record of the last PUT. Raises ArmError, ArmTransportError, and the
    exceptions of extensions.
    """
    put = rendered.fingerprint
    is_another = observed is not None and observed.put != put
    made = desired(scope, rendered, observed)
    have = None if is_another else scope.context.raw_get()
    found: list[Difference] = []
    rest = ""
    changed: tuple[str, ...] = ()
    if have is not None:
        found, rest = _seen(scope, made, have)
        if observed is None:
            found += hidden_values(made.own)
        elif observed.rest != rest:
            changed = _changed(scope, have)
    ready = ready_of_last_put(scope.patcher) or {}
    facts = SyncFacts(
        mode=mode,
        put=put,
        observed=observed,
        have=have,
        found=found,
        repair_attempts=scope.memory.repair_attempts,
        rest=rest,
        notes=rendered.notes,
        is_forced=_is_forced(scope, observed, made, found),
        undeclared=scope.operator.undeclared,
        changed=changed,
        now=scope.operator.clock.monotonic(),
        is_period_over=_is_period_over(scope, observed),
        region="" if have is None else _another_region(made.own, have),
        was_there=have is not None or was_there(status(scope.patcher.obj)),
        is_ready=ready.get("status") == "True",
    )
    decided = at_sync(facts, put_of(scope, mode, made, observed))
    is_unchanged = CountSync("unchanged") in decided.effects
    if have is not None:
        note_get(scope, have, is_in_order=is_unchanged)
    return decided, made


def rendered_again(scope: ReconcileScope) -> RenderedSpec | None:
    """The body that the spec makes now, in a reconcile that sends no PUT; None if an
    input cannot be read: the next PUT reports it.
    """
    try:
        return render(scope, identify(scope, scope.owner()))
    except ConditionError:
        return None


def inputs_changed(scope: ReconcileScope, rendered: RenderedSpec | None) -> bool:
    """Return whether the object makes another PUT than the recorded one. The event of a
    changed input may have been spent on a poll.

    rendered: the result of `rendered_again`.
    """
    observed = loads(scope.patcher.annotations.get(OBSERVED) or "")
    if observed is None:
        return False  # another operator began the operation
    return rendered is None or rendered.fingerprint != observed.put


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
    rendered: RenderedSpec | None,
    sent: Desired | None,
) -> tuple[Effect, ...]:
    """Return the record of the resource after a PUT.

    rendered: the body of the PUT before extensions. sent: the PUT, if this reconcile
    sent it. Raises StoppedError.
    """
    patcher = scope.patcher
    observed = loads(patcher.annotations.get(OBSERVED) or "")
    if rendered is None or observed is None:
        return ()
    is_put_only = mode is SyncMode.PUT and sent is None and not observed.owed
    if is_put_only or "Get" not in patcher.version.operations:
        return ()
    try:
        made = sent or desired(scope, rendered, observed)
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
    owed = scope.context.declared.left_in(have)
    observed = attrs.evolve(observed, owed=owed)
    if mode is SyncMode.PUT:
        return (SetMetadata({OBSERVED: observed.dumps()}),)
    return after_own_put(
        scope.memory.repair_attempts,
        observed,
        *_seen(scope, made, have),
    )


def has_kept_identity(scope: ReconcileScope) -> bool:
    """Return whether Azure still has an identity that the PUT of this object no longer
    had. Makes no request.
    """
    context = scope.context
    if context.read is None or IDENTITIES not in context.declared.paths:
        return False
    return bool(context.declared.withdrawn_in(context.raw_get() or {}, IDENTITIES))


def _changed(scope: ReconcileScope, have: JsonObject) -> tuple[str, ...]:
    """Return the paths at which the stored status differs from what was read."""
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
    is_shown = made.own == made.body and not any(one.kind == "absent" for one in found)
    return not is_shown and is_put_too_old(scope, observed)


def is_put_too_old(scope: ReconcileScope, observed: DriftBaseline | None) -> bool:
    """Return whether the last PUT is so old that a value which Azure does not show is
    put again.
    """
    period = scope.operator.force_put_seconds
    if period is None:
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
    """Return the time of the last PUT, in seconds since the epoch; None if not
    known.
    """
    try:
        text = "" if observed is None else observed.at
        return datetime.strptime(text, _TIME).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def compared(
    scope: ReconcileScope, made: Desired, have: JsonObject
) -> list[Difference]:
    """Return the differences between the body and the resource, without those that are
    known for the type, and those that are left alone.
    """
    return _seen(scope, made, have)[0]


def _seen(
    scope: ReconcileScope, made: Desired, have: JsonObject
) -> tuple[list[Difference], str]:
    """Return the differences, and the snapshot of the resource."""
    version = scope.patcher.version
    result = merge(scope, made.own, have)
    children = child_collections(version, scope.operator.catalogue)
    shape = body_shape(version)
    found = differences(
        result.wanted,
        have,
        children=children,
        free_maps=shape.free_maps,
        apart=distinctions_of(version),
    )
    at = IDENTITIES.replace(".", "/")
    found += [
        Difference(f"{at}/{name}", "map-extra")
        for name in names_at(have, IDENTITIES)
        if name in made.revoked
    ]
    rest = snapshot(
        shape,
        made.body,
        scope.references.without_secrets(result.shown),
        children=children,
        left=result.digest,
    )
    return not_kept(version.arm_type, found), rest
