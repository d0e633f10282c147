"""Finds the fields of a refused PUT that Azure does not let change.

Blocking: reads the resource. Rule: OW-6.
"""

from http import HTTPStatus

from asoreconcile.azure.arm.classification import classify
from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.catalogue.immutable import (
    has_another_cause,
    immutable_among,
    is_refused_change,
)
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED, loads
from asoreconcile.azure.reconcile.model.never_shown import what_differs
from asoreconcile.azure.reconcile.sync.desired import Desired, RenderedSpec
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import JsonObject, status

_REFUSED = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.CONFLICT})


def fixed_fields(
    error: ArmError, rendered: RenderedSpec, sent: Desired | None = None
) -> list[str]:
    """Return the paths of a refused PUT that cannot be changed: those that are known
    and differ, else all that differ if Azure's code says so.

    sent: the PUT, if this reconcile sent it; otherwise it is made again.
    """
    patcher, context = rendered.made_by.patcher, rendered.made_by.context
    codes = (error.code, *error.codes)
    may_be = is_refused_change(codes)
    # Of a resource that was never seen nothing can have changed.
    if not status(patcher.obj).get("id"):
        return []
    if not may_be and (not _is_bad_request(error) or has_another_cause(codes)):
        return []
    try:
        last_put = loads(patcher.annotations.get(OBSERVED) or "")
        sent = sent or rendered.desired(last_put)
        have = context.raw_get()
    except (ArmError, ArmTransportError, ConditionError, RetryError):
        return []  # the refusal itself is shown
    if have is None:
        return []
    differing = differing_fields(sent, have)
    fixed = immutable_among(patcher.version.arm_type, differing)
    return fixed or (differing if may_be else [])


def _is_bad_request(error: ArmError) -> bool:
    """Return whether Azure refuses what the PUT says. An operation that failed has no
    HTTP status of its own, so that its code decides.
    """
    if error.status == HTTPStatus.OK:
        return classify(error).retry is RetryClass.VERY_SLOW
    return error.status in _REFUSED


def differing_fields(sent: Desired, have: JsonObject) -> list[str]:
    """Return the paths at which a PUT would change the resource."""
    found, _ = sent.compare(have)
    return what_differs(sent.made_by.patcher.version, sent.own, have, found)[0]
