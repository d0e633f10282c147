"""Target: starts the watcher that owns it, which Azure creates stopped.

Azure starts no watcher without a target, so that the target asks for the start.
`spec.operatorSpec.autoStart: false` of the watcher leaves the start to a person.
"""

from collections.abc import Callable

from asoreconcile.azure.arm.condition_error import RetryClass
from asoreconcile.azure.extensions.databasewatcher._shared import why_left_alone
from asoreconcile.azure.middleware.extension_points import POST_RECONCILE
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.requests import NotReady, PostReconcile, PostResult
from asoreconcile.base.objects import dig, key_of

EXTENSIONS = built_in("databasewatcher", "Target")


@EXTENSIONS.on(POST_RECONCILE)
def until_watched(
    req: PostReconcile, call_next: Callable[[PostReconcile], PostResult], /
) -> PostResult:
    """Report not ready until the watcher runs; start it if it is stopped.

    If the watcher has no object in the cluster, or its start is left to a person, the
    target is ready without it. Makes one GET of the watcher.
    """
    ctx, watcher = req.ctx, req.owner
    if watcher is None or dig(watcher, "spec.operatorSpec.autoStart") is False:
        return call_next(req)
    arm_id, version = ctx.arm_id.rsplit("/", 2)[0], ctx.version.api_version
    state = str(dig(ctx.arm.get(arm_id, version), "properties.status") or "Running")
    if state.lower() == "running":
        return call_next(req)
    name = key_of(watcher).name
    if state.lower() != "stopped":
        return NotReady(f"the watcher {name} is in state {state!r}")
    if dig(watcher, "spec.datastore") is None:
        return NotReady(f"the watcher {name} has no datastore, so it cannot be started")
    if why := why_left_alone(req, watcher):
        return NotReady(f"the watcher {name} is stopped, and is not started: {why}")
    ctx.lro("start-watcher", lambda: ctx.arm.post(f"{arm_id}/start", version))
    return NotReady(f"the watcher {name} is being started", retry=RetryClass.FAST)
