"""Decides whether a PUT may be sent before the objects that its spec refers to are
ready.

Pure. Rule: OW-5.
"""

from collections.abc import Mapping, Sequence

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.arm.provisioning_state import FAILURE
from asoreconcile.azure.catalogue.type_facts import facts_of
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotation_row import Annotation, choice
from asoreconcile.azure.reconcile.model.annotations import (
    RESOURCE_ID,
    WAIT_FOR_REFERENCES,
)
from asoreconcile.azure.reconcile.model.claim_record import shows_id
from asoreconcile.azure.reconcile.model.conditions import is_ready
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.protection import names_of
from asoreconcile.azure.reconcile.model.switches import Switch
from asoreconcile.base.objects import JsonObject, status

WAITING_FOR_REFERENCE = "WaitingForReference"
PATIENCE_SECONDS = 600.0

WAIT_FOR_REFERENCES_ROW: Annotation[Switch] = Annotation(
    WAIT_FOR_REFERENCES,
    says="with `false` a PUT is sent before what its spec refers to is in Azure",
    values="`true` or `false`",
    section="#order-of-what-refers-to-each-other",
    effect="the object waits for what it refers to",
    parse=choice(Switch),
    if_wrong=Switch.ON,
    setting="ASORECONCILE_WAIT_FOR_REFERENCES",
    default=Switch.ON,
)


def waits_for_references(
    own: Mapping[str, str], inherited: Mapping[str, str], *, default: bool
) -> bool:
    """Return whether an object waits for its references: its own choice, else its
    Namespace's, else the operator's.

    Any value but `false` means that it waits.
    """
    of_operator = Switch.ON if default else Switch.OFF
    return WAIT_FOR_REFERENCES_ROW.value(own, inherited, of_operator) is Switch.ON


def is_far_enough(arm_type: str, target: JsonObject, *, is_accepted: bool) -> bool:
    """Return whether Azure accepts a reference from a resource of this type to a
    target.

    is_accepted: whether Azure has accepted a PUT of the target. For a target that only
    reads its resource, the resource must appear in its status.
    """
    arm_id = annotations(target).get(RESOURCE_ID) or ""
    found = status(target)
    if is_ready(target):
        return True
    is_shown = shows_id(target, arm_id)
    if is_shown and str(found.get("provisioningState") or "").lower() not in FAILURE:
        return True
    # Some references are refused until the target's first operation has ended well.
    later = facts_of(arm_type).after_success
    is_made = is_accepted or is_shown
    return is_made and ids.parse_stated(arm_id).type.lower() not in later


def waiting_for(
    nodes: Sequence[ObjectReference], *, seconds: float, is_info: bool
) -> ConditionError:
    """Return the condition of an object that waits for others.

    seconds: time since it began to wait. is_info: whether a short wait has the severity
    Info.
    """
    is_long = seconds >= PATIENCE_SECONDS
    return ConditionError(
        f"nothing is sent to Azure yet, because the spec refers to {names_of(nodes)}: "
        "Azure takes the reference only once it has that resource. The object goes on "
        "by itself then; see the condition there. To send it now, set the annotation "
        f'{WAIT_FOR_REFERENCES} to "false"',
        reason=WAITING_FOR_REFERENCE,
        severity="Info" if is_info and not is_long else "Warning",
        # The object is woken; until then only the severity may change.
        retry=RetryClass.VERY_SLOW if is_long else RetryClass.FAST,
        after_seconds=0.0 if is_long else PATIENCE_SECONDS - seconds,
    )
