"""Collects the facts about a resource and its spec at a sync, for `drift` to decide.

Blocking: reads of Azure and of Secrets.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache

from asoreconcile.azure.catalogue.body_shape import body_shape
from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.catalogue.payload import to_arm
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.reconcile.identity.identity import ResourceIdentity
from asoreconcile.azure.reconcile.identity.identity_reads import identify
from asoreconcile.azure.reconcile.identity.payload import payload_of
from asoreconcile.azure.reconcile.model.annotations import (
    CREDENTIAL_FROM,
    LATEST_RECONCILED_GENERATION,
)
from asoreconcile.azure.reconcile.model.changed_paths import changed_paths
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.azure.reconcile.model.decisions import (
    CountSync,
    Decision,
    Effect,
    Follows,
    Keep,
    Succeeded,
)
from asoreconcile.azure.reconcile.model.differences import Difference, differences
from asoreconcile.azure.reconcile.model.drift_baseline import (
    OBSERVED,
    DriftBaseline,
    fingerprint,
    loads,
)
from asoreconcile.azure.reconcile.model.owner import Owner
from asoreconcile.azure.reconcile.model.snapshot import snapshot
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode, sync_mode_of
from asoreconcile.azure.reconcile.model.type_rules import not_kept
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.export_cache import ROTATE
from asoreconcile.azure.reconcile.state.sync_schedule import (
    is_put_due,
    seconds_until_missed_sync,
    seconds_until_sync,
)
from asoreconcile.azure.reconcile.sync.bulk_reads import look_at_list, looked
from asoreconcile.azure.reconcile.sync.drift import (
    PERSISTENT,
    SyncFacts,
    after_own_put,
    is_moving,
)
from asoreconcile.base.errors import AsoreconcileError, StoppedError
from asoreconcile.base.objects import JsonObject, annotations, spec, status, uid_of

_ORIGIN_DIGITS = 16
_TIME = "%Y-%m-%dT%H:%M:%SZ"


def mode_of(scope: ReconcileScope) -> SyncMode:
    """How this object is synced: by its annotation, its namespace's, or the
    settings.
    """
    return sync_mode_of(
        annotations(scope.obj),
        scope.namespace_annotations,
        scope.operator.sync_mode,
    )


def seconds_until_next_sync(
    scope: ReconcileScope, *, was_synced: bool
) -> float | Keep | None:
    """Seconds until this object's time in the sync period; None without one. KEEP if
    each sync PUTs.

    was_synced: this reconcile has synced it.
    """
    if mode_of(scope) is SyncMode.PUT:
        return Keep.KEEP
    period = scope.kind.requeue_backoff.sync_period_seconds
    if period is None:
        return None
    return seconds_until_sync(
        uid_of(scope.obj),
        period_seconds=period,
        now=_now(scope),
        was_synced=was_synced,
    )


def resumed_period(scope: ReconcileScope, owner: Owner | None) -> Decision | None:
    """At the process's first reconcile of an object: only wait, if another process left
    the object Ready and no input of its PUT has changed. None if there is more to do.

    Sends nothing to Azure. Raises ConditionError for missing inputs.
    """
    first, scope.memory.was_looked_at = not scope.memory.was_looked_at, True
    if not first or mode_of(scope) is SyncMode.PUT or not _is_in_order(scope):
        return None
    observed = loads(scope.patcher.annotation(OBSERVED))
    # Without a snapshot the last PUT was not followed to its end.
    if observed is None or not (observed.spec and observed.rest):
        return None
    if observed.spec != _origin(scope, identify(scope, owner)):
        return None
    missed = _seconds_until_missed_sync(scope)
    until = seconds_until_next_sync(scope, was_synced=False)
    return Decision(
        (CountSync("resumed"),), Succeeded(until if missed is None else missed)
    )


def _seconds_until_missed_sync(scope: ReconcileScope) -> float | None:
    """Seconds until the sync of an object whose time passed while no process ran; None
    if it did not pass, or that is unknown.
    """
    period = scope.kind.requeue_backoff.sync_period_seconds
    before = scope.operator.predecessor_renewed()
    if period is None or before is None:
        return None
    return seconds_until_missed_sync(
        uid_of(scope.obj),
        period_seconds=period,
        now=_now(scope),
        last_alive=before.timestamp(),
    )


def note_of_put(
    scope: ReconcileScope, identity: ResourceIdentity, body: JsonObject
) -> dict[str, str]:
    """The annotations to write with the record of a PUT; none if each sync PUTs."""
    if mode_of(scope) is SyncMode.PUT:
        return {}
    put = _fingerprint(scope, identity, body)
    before = loads(scope.patcher.annotation(OBSERVED))
    known = before.known if before is not None and before.put == put else frozenset()
    at = scope.operator.clock.now().astimezone(UTC).strftime(_TIME)
    # No snapshot: it is taken once the PUT has settled.
    note = DriftBaseline(put, known, spec=_origin(scope, identity), at=at)
    return {OBSERVED: note.dumps()}


def before_body(scope: ReconcileScope) -> None:
    """Let a sync that reads first use a list. Raises as `look_at_list`."""
    if mode_of(scope) is not SyncMode.PUT and _is_sync(scope):
        look_at_list(scope)


def facts_of_sync(
    scope: ReconcileScope, identity: ResourceIdentity, body: JsonObject
) -> SyncFacts | None:
    """None if the sync PUTs, or if no PUT of the spec has completed yet.

    One GET, shared with the reconcile. Raises ArmError, ArmTransportError.
    """
    mode = mode_of(scope)
    if mode is SyncMode.PUT or not _is_sync(scope):
        return None
    put = _fingerprint(scope, identity, body)
    observed = loads(scope.patcher.annotation(OBSERVED))
    is_another = observed is not None and observed.put != put
    have = None if is_another else scope.context.raw_get()
    if have is not None:
        looked(scope, have)
    found = [] if have is None else _compared(scope, body, have)
    rest = "" if have is None else _snapshot(scope, body, have)
    is_another_rest = observed is not None and observed.rest != rest
    return SyncFacts(
        mode=mode,
        put=put,
        observed=observed,
        have=have,
        found=found,
        repair_attempts=scope.memory.repair_attempts,
        rest=rest,
        spec=_origin(scope, identity),
        is_forced=_is_forced(scope, observed, body, found),
        undeclared=scope.operator.undeclared,
        changed=_changed(scope, have) if have and is_another_rest else (),
    )


def learned(
    scope: ReconcileScope, follows: Follows, sent: JsonObject | None
) -> tuple[Effect, ...]:
    """The record of the resource after a PUT, if it was read after one.

    sent: the body, if this reconcile sent it. Raises StoppedError.
    """
    is_after_put = scope.memory.accepted is not None or follows is Follows.OPERATION
    observed = loads(scope.patcher.annotation(OBSERVED))
    if not is_after_put or observed is None or mode_of(scope) is SyncMode.PUT:
        return ()
    if "Get" not in scope.version.operations:
        return ()
    try:
        body = sent or payload_of(scope, identify(scope, scope.owner()))
        have = scope.context.raw_get() or {}
    # It is an AsoreconcileError, too, but not a failure.
    except StoppedError:
        raise
    except AsoreconcileError as error:
        scope.log.info("Cannot tell what the PUT left", reason=str(error))
        return ()
    if is_moving(have):
        return ()
    return after_own_put(
        scope.memory.repair_attempts,
        observed,
        _compared(scope, body, have),
        _snapshot(scope, body, have),
    )


def _changed(scope: ReconcileScope, have: JsonObject) -> tuple[str, ...]:
    """The paths at which the stored status differs from what was read."""
    before = {**status(scope.obj), "conditions": None}
    after = {**status_of(scope.version, have), "conditions": None}
    return changed_paths(before, after)


def _is_in_order(scope: ReconcileScope) -> bool:
    """Whether a PUT of this spec has completed."""
    ready = find_ready(status(scope.obj).get("conditions")) or {}
    generation = scope.patcher.generation
    return (
        ready.get("status") == "True"
        and ready.get("observedGeneration") == generation
        and scope.patcher.annotation(LATEST_RECONCILED_GENERATION) == str(generation)
    )


def _is_sync(scope: ReconcileScope) -> bool:
    """Whether a PUT of this spec has completed, so that reading is enough."""
    if "Get" not in scope.version.operations:
        return False
    ready = find_ready(status(scope.obj).get("conditions")) or {}
    generation = scope.patcher.generation
    return (
        (ready.get("status") == "True" or ready.get("reason") == PERSISTENT)
        and ready.get("observedGeneration") == generation
        and scope.patcher.annotation(LATEST_RECONCILED_GENERATION) == str(generation)
    )


def _is_forced(
    scope: ReconcileScope,
    observed: DriftBaseline | None,
    body: JsonObject,
    found: Iterable[Difference],
) -> bool:
    """Whether the last PUT is too old, for a resource of which Azure does not show
    every value.
    """
    period = scope.operator.force_put_seconds
    if period is None:
        return False
    own = scope.references.without_secrets(body)
    if own == body and not any(one.kind == "absent" for one in found):
        return False
    try:
        text = "" if observed is None else observed.at
        last_put = datetime.strptime(text, _TIME).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return True  # PUT by another operator, or before times were recorded
    return is_put_due(
        uid_of(scope.obj), last_put=last_put, period_seconds=period, now=_now(scope)
    )


def _now(scope: ReconcileScope) -> float:
    return scope.operator.clock.now().timestamp()


def _origin(scope: ReconcileScope, identity: ResourceIdentity) -> str:
    """The fingerprint of a PUT's inputs, before extensions read Azure: the spec, what
    it names, and the object's annotations that change how it is written.
    """
    body = to_arm(
        scope.version, spec(scope.obj), name=identity.name, inputs=scope.references
    )
    notes = {n: scope.patcher.annotation(n) for n in (CREDENTIAL_FROM, ROTATE)}
    own = {"body": scope.references.without_secrets(body), "notes": notes}
    return fingerprint(
        identity.arm_id, scope.version.api_version, own, scope.references.mark()
    )[:_ORIGIN_DIGITS]


def _fingerprint(
    scope: ReconcileScope, identity: ResourceIdentity, body: JsonObject
) -> str:
    """The fingerprint of our part of a PUT, without the children that extensions
    add.
    """
    own = scope.references.without_secrets(body)
    inside = own.setdefault("properties", None)
    if isinstance(inside, dict):
        children = child_collections(scope.version, scope.operator.catalogue)
        kept = {n: value for n, value in inside.items() if n.lower() not in children}
        own = {**own, "properties": kept or None}
    return fingerprint(
        identity.arm_id, scope.version.api_version, own, scope.references.mark()
    )


def _compared(
    scope: ReconcileScope, body: JsonObject, have: JsonObject
) -> list[Difference]:
    version = scope.version
    found = differences(
        scope.references.without_secrets(body),
        have,
        children=child_collections(version, scope.operator.catalogue),
        free_maps=body_shape(version).free_maps,
    )
    return not_kept(version.arm_type, found)


def _snapshot(scope: ReconcileScope, body: JsonObject, have: JsonObject) -> str:
    version = scope.version
    return snapshot(
        body_shape(version),
        body,
        scope.references.without_secrets(have),
        children=child_collections(version, scope.operator.catalogue),
    )


@lru_cache(maxsize=1024)
def child_collections(version: KindVersion, catalogue: Catalogue) -> frozenset[str]:
    """Names of collections in `properties` whose elements are kinds of their own.

    Computed once: it visits every kind.
    """
    parent = version.arm_type.lower() + "/"
    types = (
        kind.version().arm_type.lower()
        for kind in catalogue.kinds()
        if kind.group == version.group_kind.group and kind.is_arm
    )
    names = {t.removeprefix(parent) for t in types if t.startswith(parent)}
    if version.group_kind.kind == "ManagedCluster":
        names.add("agentpoolprofiles")
    return frozenset(name for name in names if "/" not in name)
