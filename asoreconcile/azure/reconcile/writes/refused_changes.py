"""Names the fields of a refused PUT that Azure does not let change.

Blocking: reads the resource. Rule: OW-6.
"""

from http import HTTPStatus

from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.catalogue.immutable import (
    immutable_among,
    in_words_of_spec,
    is_refused_change,
)
from asoreconcile.azure.reconcile.model.existence import listed
from asoreconcile.azure.reconcile.model.never_shown import what_differs
from asoreconcile.azure.reconcile.sync.desired import Desired
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import JsonObject, status

_REFUSED = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.CONFLICT})


def name_fixed_fields(error: ArmError, sent: Desired) -> None:
    """Add to the condition of a refused PUT the fields that cannot be changed."""
    patcher = sent.made_by.patcher
    if named := fixed_fields(error, sent):
        text = (
            f"Azure does not let {listed([in_words_of_spec(path) for path in named])} "
            "be changed after the resource was made: restore the value that Azure "
            "has, or delete the object and create it again"
        )
        patcher.remark = "; ".join(filter(None, (patcher.remark, text)))


def fixed_fields(error: ArmError, sent: Desired) -> list[str]:
    """Return the paths of a refused PUT that cannot be changed: those that are known
    and differ, else all that differ if Azure's code says so.
    """
    patcher = sent.made_by.patcher
    may_be = is_refused_change((error.code, *error.codes))
    # Of a resource that was never seen nothing can have changed.
    if not status(patcher.obj).get("id"):
        return []
    if not may_be and error.status not in _REFUSED:
        return []
    try:
        have = sent.made_by.context.raw_get()
    except (ArmError, ArmTransportError, RetryError):
        return []  # the refusal itself is shown
    if have is None:
        return []
    differing = differing_fields(sent, have)
    fixed = immutable_among(patcher.version.arm_type, differing)
    return fixed or (differing if may_be else [])


def differing_fields(sent: Desired, have: JsonObject) -> list[str]:
    """Return the paths at which a PUT would change the resource."""
    found, _ = sent.compare(have)
    return what_differs(sent.made_by.patcher.version, sent.own, have, found)[0]
