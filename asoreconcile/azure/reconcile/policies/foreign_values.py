"""The values of other writers in a resource: which of them a PUT keeps, and which it
replaces.

Blocking: reads the resource. The merging is `model.merged_body`. Rules: OW-1, OW-2,
OW-8, OW-9.
"""

import attrs

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.reconcile.model.access import without_lists
from asoreconcile.azure.reconcile.model.foreign_values import REPLACED, replaced_values
from asoreconcile.azure.reconcile.model.guarded_values import is_in
from asoreconcile.azure.reconcile.model.merged_body import MergedBody, merged
from asoreconcile.azure.reconcile.policies.bulk_reads import is_said_absent
from asoreconcile.azure.reconcile.policies.requests import DecidedPut
from asoreconcile.base.printable import listed

_SAID_AGAIN_SECONDS = 3600.0


@attrs.frozen
class SaidReplaced:
    """The part of the memory about the event. at: time of the last one, in monotonic
    seconds; None if there was none.
    """

    at: float | None = None


def keep_foreign_values(request: DecidedPut) -> DecidedPut | None:
    """Complete a PUT with the values of other writers that are in Azure.

    Every PUT of a resource that may exist follows a read, also the first PUT. The
    answer to a PUT says whether the resource was made (OW-3), but only a read before
    shows the tags that the PUT would remove (OW-1) and the paths for the event. For
    many new objects one list shows which resources do not exist, so that creating them
    takes no longer. Raises as `merge_rules` and `ReconcileContext.raw_get`.
    """
    scope, made, put = request.scope, request.desired, request.put
    context, rules, is_first = scope.context, made.maker.rules(), made.is_first
    looks = rules.looks_first if is_first else bool(rules)
    if looks and "Get" in context.version.operations:
        try:
            if not (is_first and is_said_absent(scope)):
                context.raw_get()
        except ArmError as error:
            # Some providers refuse to show what is not there.
            if not is_first or error.is_transient:
                raise
            context.log.info("Cannot tell whether it exists", reason=str(error))
    have = context.read.body if context.read else None
    if have is None:
        return None
    if put.held:
        rules = attrs.evolve(rules, moving=(*rules.moving, *put.held))
    found, _ = made.compare(have)
    result = merged(put.body, have, rules, context.declared)
    found = [one for one in found if not is_in(put.held, one)]
    replaced = replaced_values(found, request.intent.last_put, put.record.put)
    body = without_lists(result.body, have, context.declared)
    if body is not put.body:
        context.prefer_unchanged()
        put = attrs.evolve(put, body=body)
    return attrs.evolve(request, put=put, merged=result, replaced=replaced)


def report_foreign_values(request: DecidedPut) -> None:
    """Report the values that a PUT keeps and replaces, without the values
    themselves.
    """
    if request.merged is None:
        return
    scope, context, replaced = request.scope, request.scope.context, request.replaced
    has_record = request.intent.last_put is not None
    _report_kept(request, request.merged, has_record=has_record)
    if not replaced.paths:
        return
    scope.operator.count_replaced(context.version.group_kind)
    context.log.warning("Replacing foreign values", reason=", ".join(replaced.paths))
    memory, now = scope.memory, context.clock.monotonic()
    said = memory.part(SaidReplaced).at
    if said is None or now - said >= _SAID_AGAIN_SECONDS:
        memory.keep(SaidReplaced(now))
        context.event("Warning", REPLACED, str(replaced))


def _report_kept(request: DecidedPut, result: MergedBody, *, has_record: bool) -> None:
    context = request.scope.context
    if result.tags and not has_record:
        text = f"tags that this object does not declare are kept: {listed(result.tags)}"
        context.event("Normal", "ForeignTagsKept", text)
    if result.unshown:
        text = f"Azure does not show {listed(result.unshown)}: put as the spec says"
        context.log.warning("Ignored field is not shown", reason=text)
        context.event("Warning", "IgnoredFieldNotShown", text)
