"""Conditions as Kubernetes has them: what is the case with an object, and since when.

The form is metav1.Condition's; one of a type. Programs look at `status`, people at the
rest.
"""

from datetime import UTC, datetime
from typing import Literal

from asoreconcile.objects import JsonObject, generation, status

ConditionStatus = Literal["True", "False", "Unknown"]


def condition_of(obj: JsonObject, type: str) -> JsonObject | None:  # noqa: A002 - the field's name
    """The condition of that type in `status.conditions`, or None."""
    conditions = status(obj).get("conditions") or []
    return next((one for one in conditions if one.get("type") == type), None)


def set_condition(
    obj: JsonObject,
    type: str,  # noqa: A002 - the field's name
    status: ConditionStatus,
    reason: str,
    message: str = "",
    *,
    now: datetime | None = None,
) -> bool:
    """Put a condition on an object; whether that changed it.

    reason: one word in CamelCase, for programs. message: for people. now: the
    condition's time if its status is another one than before; None asks the machine.
    observedGeneration is the object's.
    """
    before = condition_of(obj, type)
    since = (now or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")
    if before is not None and before.get("status") == status:
        since = before.get("lastTransitionTime") or since
    condition = {
        "type": type,
        "status": status,
        "observedGeneration": generation(obj),
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
    if condition == before:
        return False
    conditions = obj.setdefault("status", {}).setdefault("conditions", [])
    if before is None:
        conditions.append(condition)
    else:
        conditions[conditions.index(before)] = condition
    return True
