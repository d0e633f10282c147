"""Conditions of an object's status, in the form of metav1.Condition.

An object has one condition per type. Programs read `status`, people read the rest.
"""

from datetime import UTC, datetime
from typing import Literal

from asoreconcile.base.objects import JsonObject, generation, status

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
    """Set a condition on an object; returns whether that changed it.

    reason: one word in CamelCase, for programs. message: text for people. now: time of
    the transition if the status changes; None uses the system clock.
    observedGeneration is set to the object's generation.
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
