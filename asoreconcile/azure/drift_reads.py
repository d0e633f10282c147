"""What is known of a resource and its spec at a sync, for `drift` to decide.

Blocking: reads of Azure and of Secrets.
"""

from asoreconcile.azure.annotations import LATEST_RECONCILED_GENERATION
from asoreconcile.azure.bulk_reads import look_at_list, looked
from asoreconcile.azure.conditions import find_ready
from asoreconcile.azure.decisions import Effect
from asoreconcile.azure.differences import Difference, differences
from asoreconcile.azure.drift import PERSISTENT, SyncFacts, after_repair
from asoreconcile.azure.drift_baseline import (
    OBSERVED,
    DriftBaseline,
    fingerprint,
    loads,
)
from asoreconcile.azure.identity import ResourceIdentity
from asoreconcile.azure.identity_reads import identify
from asoreconcile.azure.payload import payload_of
from asoreconcile.azure.reconcile_scope import ReconcileScope
from asoreconcile.azure.sync_mode import SyncMode, sync_mode_of
from asoreconcile.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.errors import AsoreconcileError, StoppedError
from asoreconcile.objects import JsonObject, annotations, status


def mode_of(scope: ReconcileScope) -> SyncMode:
    """How this object is synced: by its annotation, its namespace's, or the
    settings.
    """
    return sync_mode_of(
        annotations(scope.obj),
        scope.operator.namespace_annotations(scope.key.namespace),
        scope.operator.sync_mode,
    )


def note_of_put(
    scope: ReconcileScope, identity: ResourceIdentity, body: JsonObject
) -> dict[str, str]:
    """What to write beside the record of a PUT; nothing where each sync PUTs."""
    if mode_of(scope) is SyncMode.PUT:
        return {}
    put = _fingerprint(scope, identity, body)
    before = loads(scope.patcher.annotation(OBSERVED))
    known = before.known if before is not None and before.put == put else frozenset()
    return {OBSERVED: DriftBaseline(put, known).dumps()}


def before_body(scope: ReconcileScope) -> None:
    """A sync that looks first may go by a list. Raises as `look_at_list`."""
    if mode_of(scope) is not SyncMode.PUT and _is_sync(scope):
        look_at_list(scope)


def facts_of_sync(
    scope: ReconcileScope, identity: ResourceIdentity, body: JsonObject
) -> SyncFacts | None:
    """None where the sync PUTs, or the spec was not put to its end before.

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
    return SyncFacts(
        mode=mode,
        put=put,
        observed=observed,
        have=have,
        found=() if have is None else _compared(scope, body, have),
        repair_attempts=scope.memory.repair_attempts,
    )


def learned(scope: ReconcileScope) -> tuple[Effect, ...]:
    """What to remember of differences that a PUT was to mend, if there are any.

    Raises StoppedError.
    """
    repair_attempts = scope.memory.repair_attempts
    observed = loads(scope.patcher.annotation(OBSERVED))
    if not repair_attempts.pending or observed is None:
        return ()
    try:
        body = payload_of(scope, identify(scope, scope.owner()))
        have = scope.context.raw_get()
    # It is an AsoreconcileError, too, but nothing that went wrong.
    except StoppedError:
        raise
    except AsoreconcileError as error:
        scope.log.info("Cannot tell what the PUT mended", reason=str(error))
        return ()
    return after_repair(repair_attempts, observed, _compared(scope, body, have or {}))


def _is_sync(scope: ReconcileScope) -> bool:
    """Whether this spec was put to its end, so that reading is enough."""
    if "Get" not in scope.version.operations:
        return False
    ready = find_ready(status(scope.obj).get("conditions")) or {}
    generation = scope.patcher.generation
    return (
        (ready.get("status") == "True" or ready.get("reason") == PERSISTENT)
        and ready.get("observedGeneration") == generation
        and scope.patcher.annotation(LATEST_RECONCILED_GENERATION) == str(generation)
    )


def _fingerprint(
    scope: ReconcileScope, identity: ResourceIdentity, body: JsonObject
) -> str:
    """Of what is ours in a PUT; the children it carries come and go without it."""
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
    return differences(
        scope.references.without_secrets(body),
        have,
        children=child_collections(scope.version, scope.operator.catalogue),
    )


def child_collections(version: KindVersion, catalogue: Catalogue) -> frozenset[str]:
    """Names of collections in `properties` whose elements are kinds of their own."""
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
