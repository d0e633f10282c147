"""Whether a resource that is in order needs a PUT at its sync (D11).

ASO puts every resource at every sync, and so do we by default (`SyncMode`).
Told so, the sync reads: what Azure has is compared with what would be put, and a PUT
goes out only for differences that no PUT has failed to mend before.
"""

from collections.abc import Iterable

from asoreconcile.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.annotations import LATEST_RECONCILED_GENERATION
from asoreconcile.azure.conditions import find_ready
from asoreconcile.azure.differences import Difference, differences
from asoreconcile.azure.drift_baseline import (
    OBSERVED,
    DriftBaseline,
    fingerprint,
    loads,
    marks,
)
from asoreconcile.azure.identity import Identity, identify
from asoreconcile.azure.payload import payload_of
from asoreconcile.azure.scope import ReconcileScope
from asoreconcile.azure.sync_mode import SyncMode, sync_mode_of
from asoreconcile.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.errors import AsoreconcileError, StoppedError
from asoreconcile.objects import JsonObject, annotations, dig, status

PERSISTENT = "PersistentDrift"
_MOST_REPAIRS = 3
_SHOWN_PATHS = 10
_AT_REST = frozenset({"succeeded", "failed", "canceled", "cancelled"})


def mode_of(work: ReconcileScope) -> SyncMode:
    return sync_mode_of(
        annotations(work.obj),
        work.operator.namespace_annotations(work.key.namespace),
        work.operator.sync_mode,
    )


def note_of_put(
    work: ReconcileScope, identity: Identity, body: JsonObject
) -> dict[str, str]:
    """What to write beside the record of a PUT; nothing where each sync PUTs."""
    if mode_of(work) is SyncMode.PUT:
        return {}
    put = _fingerprint(work, identity, body)
    before = loads(work.session.annotation(OBSERVED))
    known = before.known if before is not None and before.put == put else frozenset()
    return {OBSERVED: DriftBaseline(put, known).dumps()}


def without_put(
    work: ReconcileScope, identity: Identity, body: JsonObject
) -> JsonObject | None:
    """The resource as Azure has it, if a PUT of `body` would change nothing.

    None: put it. Blocking: one GET, shared with the reconcile. Raises ConditionError
    `PersistentDrift` when somebody undoes each PUT.
    """
    mode = mode_of(work)
    if mode is SyncMode.PUT or not _is_sync(work):
        return None
    put = _fingerprint(work, identity, body)
    observed = loads(work.session.annotation(OBSERVED))
    if observed is not None and observed.put != put:
        work.memory.drifts.forget()
        return None
    have = work.context.raw_get()
    if have is None:
        return None
    state = dig(have, "properties.provisioningState")
    if state and str(state).lower() not in _AT_REST:
        return have  # in transition: nothing can be said, the next sync looks again
    found = _compared(work, body, have)
    known = frozenset() if observed is None else observed.known
    unknown = [one for one in found if not marks([one]) <= known]
    if observed is None and all(one.kind == "absent" for one in unknown):
        # A value that is never shown: ours went there with the PUT that made us Ready.
        known, unknown = marks(unknown), []
    if unknown and mode is SyncMode.COMPARE:
        _begin_repair(work, unknown)
        return None
    if unknown:
        work.event("Warning", "Drift", f"Azure differs {_at(unknown)}; left as it is")
    else:
        work.memory.drifts.forget()
        work.session.annotate({OBSERVED: DriftBaseline(put, known).dumps()})
    return have


def learn(work: ReconcileScope) -> None:
    """After a PUT that was to mend differences: remember those that it left.

    They are not put for again, until the spec changes or they do.
    """
    pending = work.memory.drifts.pending
    observed = loads(work.session.annotation(OBSERVED))
    if not pending or observed is None:
        return
    try:
        body = payload_of(work, identify(work, work.owner()))
        have = work.context.raw_get()
    except StoppedError:
        raise
    except AsoreconcileError as error:
        work.log.info("Cannot tell what the PUT mended", reason=str(error))
        return
    left = [one for one in _compared(work, body, have or {}) if marks([one]) <= pending]
    work.memory.drifts.judged(marks(left))
    if left:
        known = observed.known | marks(left)
        work.session.annotate({OBSERVED: DriftBaseline(observed.put, known).dumps()})
        work.event(
            "Warning",
            "ValueNotHonoured",
            f"Azure accepts the spec and keeps other values {_at(left)}: they are not "
            "put again",
        )


def _begin_repair(work: ReconcileScope, unknown: list[Difference]) -> None:
    times = work.memory.drifts.begin(marks(unknown))
    if times > _MOST_REPAIRS:
        raise ConditionError(
            f"somebody changes the resource back after each sync {_at(unknown)}: it is "
            "left as it is until the spec says the same, or the other one stops",
            reason=PERSISTENT,
            retry=RetryClass.VERY_SLOW,
        )
    paths = [one.path for one in unknown[:_SHOWN_PATHS]]
    work.log.warning("Azure differs from the spec; putting again", paths=paths)
    work.event("Warning", "Drift", f"Azure differs {_at(unknown)}; it is put again")


def _is_sync(work: ReconcileScope) -> bool:
    """Whether this spec was put to its end, so that reading is enough."""
    if "Get" not in work.version.operations:
        return False
    ready = find_ready(status(work.obj).get("conditions")) or {}
    generation = work.session.generation
    return (
        (ready.get("status") == "True" or ready.get("reason") == PERSISTENT)
        and ready.get("observedGeneration") == generation
        and work.session.annotation(LATEST_RECONCILED_GENERATION) == str(generation)
    )


def _fingerprint(work: ReconcileScope, identity: Identity, body: JsonObject) -> str:
    """Of what is ours in a PUT; the children it carries come and go without it."""
    own = work.references.without_secrets(body)
    inside = own.setdefault("properties", None)
    if isinstance(inside, dict):
        children = child_collections(work.version, work.operator.catalogue)
        kept = {n: value for n, value in inside.items() if n.lower() not in children}
        own = {**own, "properties": kept or None}
    return fingerprint(
        identity.arm_id, work.version.api_version, own, work.references.mark()
    )


def _compared(
    work: ReconcileScope, body: JsonObject, have: JsonObject
) -> list[Difference]:
    return differences(
        work.references.without_secrets(body),
        have,
        children=child_collections(work.version, work.operator.catalogue),
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


def _at(found: Iterable[Difference]) -> str:
    paths = [one.path for one in found]
    more = f" and {len(paths) - _SHOWN_PATHS} more" if len(paths) > _SHOWN_PATHS else ""
    return f"at {', '.join(paths[:_SHOWN_PATHS])}{more}"
