"""Reads a resource at a sync, and collects the facts for `drift` to decide.

Blocking: reads of Azure.
"""

from datetime import datetime

import attrs

from asoreconcile.azure.arm.body_digest import digest_of
from asoreconcile.azure.arm.collection_reads import ListedBody
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.reconcile.model.decisions import (
    CountSync,
    Decision,
    Read,
    SetDrifted,
    SetMetadata,
)
from asoreconcile.azure.reconcile.model.differences import (
    Difference,
    changed_paths,
    hidden_values,
)
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED
from asoreconcile.azure.reconcile.model.first_creation import was_there
from asoreconcile.azure.reconcile.model.guarded_values import (
    guarded_differences,
    rows_of,
)
from asoreconcile.azure.reconcile.model.never_shown import is_never_shown
from asoreconcile.azure.reconcile.model.normalization import is_same
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.sync.desired import Desired, RenderedSpec
from asoreconcile.azure.reconcile.sync.drift import SyncFacts, at_sync
from asoreconcile.azure.reconcile.sync.put_record import put_of
from asoreconcile.base.objects import JsonObject, copy_json, status

_IN_ORDER = CountSync("unchanged")
_MOVING = CountSync("moving")


@attrs.frozen
class Look:
    """The result of a look at a resource.

    decided: the decision whether to PUT. made: the body that a PUT sends.
    is_list_wrong: whether a list showed differences that a GET did not confirm.
    """

    decided: Decision
    made: Desired
    is_list_wrong: bool = False


def look(
    rendered: RenderedSpec,
    known: SyncFacts,
    *,
    now: datetime,
    listed: ListedBody | None = None,
) -> Look:
    """Read the resource, compare it with the body of the PUT, and decide.

    A list can only confirm the record of the last PUT and the status. If the list shows
    anything else, one GET is sent, whose answer the whole reconcile shares. Rule: Q7.
    known: the facts from before the read. listed: the resource in a list, if a list may
    be used. Raises ArmError, ArmTransportError, and the exceptions of extensions.
    """
    context, patcher = rendered.maker.context, rendered.maker.patcher
    if listed is None:
        return _look(rendered, known, now)
    context.observed(listed.body)
    # Extensions may change the body in place.
    copied = attrs.evolve(rendered, body=copy_json(rendered.body))
    seen = _look(copied, known, now)
    if _is_unchanged(seen, patcher, listed.body):
        read = Read(listed.body, listed_at=listed.at)
        return attrs.evolve(seen, decided=attrs.evolve(seen.decided, then=read))
    context.read, context.required_etag, context.needs_absence = None, None, False
    seen = _look(rendered, known, now)
    have = context.raw_get()
    is_wrong = (
        have is not None
        and _is_unchanged(seen, patcher, have)
        and digest_of(have) != digest_of(listed.body)
    )
    return attrs.evolve(seen, is_list_wrong=is_wrong)


def _look(rendered: RenderedSpec, known: SyncFacts, now: datetime) -> Look:
    context, patcher = rendered.maker.context, rendered.maker.patcher
    observed = known.observed
    made = rendered.desired(observed)
    is_another = observed is not None and observed.put != rendered.fingerprint
    have = None if is_another else context.raw_get()
    found: list[Difference] = []
    unshown: list[Difference] = []
    rest = ""
    changed: tuple[str, ...] = ()
    if have is not None:
        found, rest = made.compare(have)
        if observed is None:
            hidden = [*hidden_values(made.own)]
            found += hidden
            if known.mode is SyncMode.REPORT:
                unshown = [
                    one
                    for one in found
                    if one in hidden or is_never_shown(patcher.version, one)
                ]
        elif observed.rest != rest:
            changed = _changed(patcher, have)
    guarded: list[Difference] = []
    if have is not None and observed is not None:
        type_, at = patcher.version.arm_type, observed.at
        guarded = guarded_differences(type_, found, have, at)
    is_shown = made.own == made.body and not any(one.kind == "absent" for one in found)
    facts = attrs.evolve(
        known,
        have=have,
        found=found,
        rest=rest,
        changed=changed,
        is_forced=known.is_forced and not is_shown,
        region="" if have is None else _another_region(made.own, have),
        was_there=have is not None or was_there(status(patcher.obj)),
        unshown=unshown,
        guarded=guarded,
    )
    put = put_of(known.mode, made, observed, declared=context.declared, now=now)
    if guarded and not known.is_asked:
        put = attrs.evolve(put, held=rows_of(patcher.version.arm_type, guarded))
    decided = at_sync(facts, put)
    # The Drifted condition stays until a sync no longer finds the drift, or sends a
    # PUT. A sync of a moving resource can tell nothing, so it keeps the condition.
    gone = () if _MOVING in decided.effects else (SetDrifted(),)
    return Look(attrs.evolve(decided, effects=(*gone, *decided.effects)), made)


def _is_unchanged(seen: Look, patcher: PatchHelper, have: JsonObject) -> bool:
    """Return whether a read confirms the record of the last PUT and the stored
    status.
    """
    effects = seen.decided.effects
    recorded = SetMetadata({OBSERVED: patcher.annotations.get(OBSERVED)})
    if _IN_ORDER not in effects or recorded not in effects:
        return False
    return _is_same_status(patcher.status, status_of(patcher.version, have))


def _changed(patcher: PatchHelper, have: JsonObject) -> tuple[str, ...]:
    """Return the paths at which the stored status differs from the resource."""
    before = {**status(patcher.obj), "conditions": None}
    after = {**status_of(patcher.version, have), "conditions": None}
    return changed_paths(before, after)


def _another_region(want: JsonObject, have: JsonObject) -> str:
    """Return the declared location if the resource is in another one, else ""."""
    declared, found = want.get("location"), have.get("location")
    if not (isinstance(declared, str) and isinstance(found, str) and found):
        return ""
    return "" if is_same(declared, found) else declared


def _is_same_status(stored: JsonObject, observed: JsonObject) -> bool:
    """Return whether two statuses differ in nothing but their conditions and the case
    of ids: a list may write ids in another case than a GET.
    """
    one, other = ({**status, "conditions": None} for status in (stored, observed))
    return digest_of(one) == digest_of(other)
