"""Records the differences that remain in Azure after a PUT. Blocking: may read the
resource.
"""

import attrs

from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.middleware.declared import IDENTITIES
from asoreconcile.azure.reconcile.model.decisions import Effect, SetMetadata
from asoreconcile.azure.reconcile.model.drift_baseline import (
    OBSERVED,
    UNSETTLED,
    RepairAttempts,
    last_put_of,
)
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.sync.desired import Desired, RenderedSpec
from asoreconcile.azure.reconcile.sync.drift import (
    after_own_put,
    drifted,
    failed_state,
    is_moving,
)
from asoreconcile.base.errors import AsoreconcileError, StoppedError


def learned(
    rendered: RenderedSpec,
    mode: SyncMode,
    *,
    sent: Desired | None,
    attempts: RepairAttempts,
) -> tuple[Effect, ...]:
    """Return the record of the resource after a PUT.

    rendered: the body of the PUT before extensions. sent: the PUT, if this reconcile
    sent it. attempts: the differences that PUTs were sent for. Raises StoppedError.
    """
    context, patcher = rendered.maker.context, rendered.maker.patcher
    observed = last_put_of(patcher.annotations)
    if observed is None or "Get" not in patcher.version.operations:
        return ()
    try:
        made = sent or rendered.desired(observed)
        have = context.raw_get() or {}
    # It is an AsoreconcileError, too, but not a failure.
    except StoppedError:
        raise
    except AsoreconcileError as error:
        context.log.info("Cannot tell what the PUT left", reason=str(error))
        return ()
    if is_moving(have):
        return ()
    if failed_state(have):
        # A failed resource shows values that later reads must not be compared with.
        note = attrs.evolve(observed, rest=UNSETTLED)
        return (SetMetadata({OBSERVED: note.dumps()}),)
    observed = attrs.evolve(observed, owed=context.declared.left_in(have))
    found, rest = made.compare(have)
    if mode is SyncMode.PUT:
        return (SetMetadata({OBSERVED: observed.dumps()}), *drifted(found))
    return after_own_put(attempts, observed, found, rest, is_immediate=sent is not None)


def has_kept_identity(context: ReconcileContext) -> bool:
    """Return whether Azure still has an identity that the PUT of this object no longer
    had. Makes no request.
    """
    if context.read is None or IDENTITIES not in context.declared.paths:
        return False
    return bool(context.declared.withdrawn_in(context.raw_get() or {}, IDENTITIES))
