"""Checked by mypy, never run: a function fits the point it is registered on, or fails.

Each line marked `error:` must be refused, all others accepted.
"""

from collections.abc import Callable

from asoreconcile.azure.middleware.extension_points import (
    EXPORT_SECRETS,
    POST_RECONCILE,
    PRE_RECONCILE,
)
from asoreconcile.azure.middleware.extension_set import ExtensionSet
from asoreconcile.azure.middleware.factories import block_unless_state, export_status
from asoreconcile.azure.middleware.requests import (
    Block,
    PostReconcile,
    PostResult,
    PreReconcile,
    PreResult,
)
from asoreconcile.base.objects import GroupKind

THING = GroupKind("sample.azure.com", "Thing")
SET = ExtensionSet("typed")


@SET.on(PRE_RECONCILE, THING)
def pre_check(
    req: PreReconcile, call_next: Callable[[PreReconcile], PreResult], /
) -> PreResult:
    return Block("no") if req.obj else call_next(req)


def post_check(
    req: PostReconcile, call_next: Callable[[PostReconcile], PostResult], /
) -> PostResult:
    return call_next(req)


def wrong_result(
    req: PreReconcile, call_next: Callable[[PreReconcile], PreResult], /
) -> str:
    return str(call_next(req))


class Counting:
    def check(
        self, req: PreReconcile, call_next: Callable[[PreReconcile], PreResult], /
    ) -> PreResult:
        return call_next(req)


SET.on(POST_RECONCILE, THING)(post_check)
SET.on(PRE_RECONCILE, THING)(Counting().check)
SET.on(PRE_RECONCILE, THING)(block_unless_state("status.state"))
SET.on(EXPORT_SECRETS, THING)(export_status({"host": "status.host"}))

SET.on(PRE_RECONCILE, THING)(post_check)  # error: arg-type
SET.on(PRE_RECONCILE, THING)(wrong_result)  # error: arg-type
SET.on(POST_RECONCILE, THING)(block_unless_state("status.state"))  # error: arg-type
SET.on(EXPORT_SECRETS, THING)(pre_check)  # error: arg-type
