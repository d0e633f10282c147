"""Merges a PUT with the values of others in Azure, and tells of those it replaces.

Blocking: may read the resource. Rules: OW-1, OW-2, OW-8, OW-9.
"""

from collections.abc import Sequence

import attrs

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.reconcile.model.decisions import Put
from asoreconcile.azure.reconcile.model.drift_baseline import DriftBaseline
from asoreconcile.azure.reconcile.model.existence import listed
from asoreconcile.azure.reconcile.model.foreign_values import REPLACED, replaced_paths
from asoreconcile.azure.reconcile.model.merged_body import MergedBody, merged
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.sync.desired import Desired
from asoreconcile.azure.reconcile.writes.adoption import report_adoption
from asoreconcile.azure.reconcile.writes.list_reads import said_absent_by_list

_SAID_AGAIN_SECONDS = 3600.0


def merged_put(
    scope: ReconcileScope, put: Put, made: Desired, last: DriftBaseline | None
) -> Put:
    """Return the PUT with the values of others as Azure has them. People are told of
    those that the PUT replaces.

    A PUT of a resource that may be there follows a read, also the first PUT: its answer
    tells whether the resource was made (OW-3), but only a read before it shows the tags
    that the PUT would remove (OW-1) and the paths of the event. Of many new objects one
    list tells which resources are not there, so that creating them takes no longer.
    last: the record of the last PUT. Raises as `merge_rules` and
    `ReconcileContext.raw_get`.
    """
    context, rules, patcher = scope.context, scope.merge_rules(), scope.patcher
    is_first, reads = made.is_first, scope.operator.collection_reads
    looks = rules.looks_first if is_first else bool(rules)
    if looks and "Get" in patcher.version.operations:
        try:
            if not (is_first and reads and said_absent_by_list(scope, reads)):
                context.raw_get()
        except ArmError as error:
            # Some providers refuse to show what is not there.
            if not is_first or error.is_transient:
                raise
            scope.log.info("Cannot tell whether it exists", reason=str(error))
    have = context.read.body if context.read else None
    if have is None:
        return put
    found, _ = made.compare(have)
    if is_first:
        report_adoption(scope, found, have)
    result = merged(put.body, have, rules, context.declared)
    paths = replaced_paths(found, last, put.record.put)
    _report(scope, result, paths, has_record=last is not None)
    if result.body is put.body:
        return put
    context.prefer_unchanged()
    return attrs.evolve(put, body=result.body)


def _report(
    scope: ReconcileScope, result: MergedBody, paths: Sequence[str], *, has_record: bool
) -> None:
    """Record events and log lines. No values are shown."""
    memory, now = scope.memory, scope.operator.clock.monotonic()
    if result.tags and not has_record:
        text = f"tags that this object does not declare are kept: {listed(result.tags)}"
        scope.event("Normal", "ForeignTagsKept", text)
    if result.unshown:
        text = f"Azure does not show {listed(result.unshown)}: put as the spec says"
        scope.log.warning("Ignored field is not shown", reason=text)
        scope.event("Warning", "IgnoredFieldNotShown", text)
    if not paths:
        return
    scope.operator.count_replaced(scope.patcher.version.group_kind)
    scope.log.warning("Replacing foreign values", reason=", ".join(paths))
    said = memory.said_replaced_at
    if said is None or now - said >= _SAID_AGAIN_SECONDS:
        memory.said_replaced_at = now
        text = f"the PUT replaces what this object did not declare, at {listed(paths)}"
        scope.event("Warning", REPLACED, text)
