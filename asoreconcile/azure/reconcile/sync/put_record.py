"""Reads the record of an object's last accepted PUT, and makes the record of the next
one. Pure.
"""

from datetime import UTC, datetime

from asoreconcile.azure.middleware.declared import Declared
from asoreconcile.azure.reconcile.model.annotations import LATEST_RECONCILED_GENERATION
from asoreconcile.azure.reconcile.model.conditions import GONE, ready_of
from asoreconcile.azure.reconcile.model.decisions import Put
from asoreconcile.azure.reconcile.model.drift_baseline import DriftBaseline, last_put_of
from asoreconcile.azure.reconcile.model.foreign_values import places_of
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.sync.desired import Desired, RenderedSpec
from asoreconcile.base.objects import JsonObject

_TIME = "%Y-%m-%dT%H:%M:%SZ"


def ready_of_last_put(patcher: PatchHelper) -> JsonObject | None:
    """Return the Ready condition if it is about this generation of the spec and a PUT
    of this generation was recorded, else None.
    """
    ready = ready_of(patcher.obj)
    is_of_put = ready.get("observedGeneration") == patcher.generation
    return ready if is_of_put and _is_latest(patcher) else None


def _is_latest(patcher: PatchHelper) -> bool:
    put = patcher.annotations.get(LATEST_RECONCILED_GENERATION)
    return put == str(patcher.generation)


def is_recorded(
    patcher: PatchHelper, rendered: RenderedSpec, observed: DriftBaseline | None
) -> bool:
    """Return whether the cluster records an accepted PUT with the body that the object
    has now.
    """
    is_same = observed is not None and observed.put == rendered.fingerprint
    return is_same and _is_latest(patcher)


def reads_first(
    patcher: PatchHelper,
    mode: SyncMode,
    ready: JsonObject | None,
    observed: DriftBaseline | None,
) -> bool:
    """Return whether a reconcile reads the resource before it PUTs.

    It does if a PUT of this generation was accepted, by this operator or, as its
    annotations say, by another.

    ready: the result of `ready_of_last_put`. observed: the record of the last PUT. A
    later failure, such as that of a read during an outage of Azure, causes no PUT.
    """
    if mode is SyncMode.PUT or "Get" not in patcher.version.operations:
        return False
    is_accepted = observed is not None and bool(observed.put) and _is_latest(patcher)
    if is_accepted or (ready or {}).get("status") == "True":
        return True
    return mode is SyncMode.REPORT and _was_seen(patcher)


def _was_seen(patcher: PatchHelper) -> bool:
    """Return whether this generation was Ready, or its resource was found deleted.

    Mode `report` then sends no further PUT of this generation.
    """
    ready = ready_of(patcher.obj)
    is_seen = ready.get("status") == "True" or ready.get("reason") == GONE
    return is_seen and ready.get("observedGeneration") == patcher.generation


def put_of(
    mode: SyncMode,
    made: Desired,
    observed: DriftBaseline | None,
    *,
    declared: Declared,
    now: datetime,
) -> Put:
    """Return a PUT with the record to be written if Azure accepts it.

    observed: the record of the PUT before. declared: the names that the object declares
    where others write, too.
    """
    rendered = made.rendered
    put = rendered.fingerprint
    known: frozenset[str] = frozenset()
    at = time_of_put(now)
    withdrawn = ""
    if observed is not None and observed.put == put:
        known = observed.known
        if mode is SyncMode.PUT:
            at = observed.at  # no write of metadata for each sync
    elif observed is not None:
        withdrawn = observed.withdrawn().dumps()
    # No snapshot: it is taken once the PUT has settled.
    record = DriftBaseline(
        put,
        known,
        annotations_hash=rendered.annotations_hash,
        at=at,
        secrets=rendered.secrets,
        declared=frozenset(declared.now),
        owed=declared.before - declared.now,
        places=places_of(made.own),
    )
    return Put(rendered.identity.arm_id, made.body, record, withdrawn)


def time_of_put(now: datetime) -> str:
    """Return a time as the record of a PUT has it."""
    return now.astimezone(UTC).strftime(_TIME)


def seconds_since_put(observed: DriftBaseline | None, now: datetime) -> float | None:
    """Return the age of the last PUT; None if its time is not known, because another
    operator sent the PUT or the time was not recorded yet.

    A time in the future is as far from now: the clock was set back since, and nothing
    may wait until it is there again.
    """
    try:
        text = "" if observed is None else observed.at
        at = datetime.strptime(text, _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None
    return abs((now - at).total_seconds())


def has_other_inputs(patcher: PatchHelper, rendered: RenderedSpec | None) -> bool:
    """Return whether the object's PUT now differs from the recorded one.

    An input may have changed without a PUT, because the reconcile after the change only
    polled an operation.

    rendered: the body that the spec makes now; None if an input cannot be read.
    """
    observed = last_put_of(patcher.annotations)
    if observed is None:
        return False  # another operator began the operation
    return rendered is None or rendered.fingerprint != observed.put
