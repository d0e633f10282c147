"""Conditions of an object's status, in the form of metav1.Condition.

An object has one condition per type. Programs read `status`, people read the rest.
"""

from datetime import UTC, datetime
from typing import Literal

from asoreconcile.base.objects import AnyObject, JsonObject, change_in_place, generation
from asoreconcile.base.objects import status as status_of

ConditionStatus = Literal["True", "False", "Unknown"]


def condition_of(obj: AnyObject, type: str) -> JsonObject | None:  # noqa: A002 - the field's name
    """Return the condition of that type in `status.conditions`, or None."""
    conditions = status_of(obj).get("conditions") or []
    return next((one for one in conditions if one.get("type") == type), None)


def set_condition(
    obj: AnyObject,
    type: str,  # noqa: A002 - the field's name
    status: ConditionStatus,
    reason: str,
    message: str = "",
    *,
    now: datetime | None = None,
) -> bool:
    """Set a condition on an object, a dict or one of a class; returns whether that
    changed it.

    reason: one word in CamelCase, for programs. message: text for people. now: time of
    the transition if the status changes; None uses the system clock.
    observedGeneration is set to the object's generation. Raises TypeError for another
    status than the three texts.
    """
    if status not in ("True", "False", "Unknown"):
        raise TypeError(f'status is {status!r}: give "True", "False" or "Unknown"')
    if not isinstance(obj, dict):
        return change_in_place(
            set_condition, obj, type, status, reason, message, now=now
        )
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
