"""Conditions of an object's status, in the form of metav1.Condition.

An object has one condition per type. Programs read `status`, people read the rest.
"""

import re
from datetime import UTC, datetime
from typing import Literal

from asoreconcile.base.objects import AnyObject, JsonObject, change_in_place, generation
from asoreconcile.base.objects import status as status_of

ConditionStatus = Literal["True", "False", "Unknown"]

# The rules of metav1.Condition, as the CRD of a class with `Conditions` has them.
TYPE_PATTERN = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)"
    r"?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
REASON_PATTERN = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
MAX_TYPE, MAX_REASON, MAX_MESSAGE = 316, 1024, 32_768


def check_condition(
    type: str,  # noqa: A002 - the field's name
    status: str,
    reason: str,
    message: str,
    now: datetime | None,
) -> datetime:
    """Check the parts of a condition: a server would refuse the whole status. Return
    the time of a transition, in whole seconds.

    Raises TypeError for a text that is not a string, and for another status than the
    three; ValueError for a type or reason that a CRD does not allow, and for a time
    without a zone.
    """
    if status not in ("True", "False", "Unknown"):
        raise TypeError(f'status is {status!r:.80}: give "True", "False" or "Unknown"')
    texts = {"type": type, "reason": reason, "message": message}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise TypeError(f"{name} is {text!r:.80}: give a string")
    if len(type) > MAX_TYPE or not re.fullmatch(TYPE_PATTERN[1:-1], type):
        raise ValueError(f"type is {type!r:.80}: give a word in CamelCase, as Ready")
    if len(reason) > MAX_REASON or not re.fullmatch(REASON_PATTERN[1:-1], reason):
        raise ValueError(
            f"reason is {reason!r:.80}: give one word in CamelCase, as NotFound"
        )
    if now is None:
        return datetime.now(UTC).replace(microsecond=0)
    if now.utcoffset() is None:
        raise ValueError(f"now is {now}, a time without a zone: give datetime.now(UTC)")
    return now.astimezone(UTC).replace(microsecond=0)


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

    reason: one word in CamelCase, for programs. message: text for people; a CRD allows
    32,768 characters, and more are cut. now: time of
    the transition if the status changes, with a zone; None uses the system clock.
    observedGeneration is set to the object's generation. Raises TypeError for another
    status than the three texts, ValueError for a type or reason that a CRD does not
    allow, and for a time without a zone.
    """
    moment = check_condition(type, status, reason, message, now)
    if not isinstance(obj, dict):
        return change_in_place(
            set_condition, obj, type, status, reason, message, now=now
        )
    before = condition_of(obj, type)
    since = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    if before is not None and before.get("status") == status:
        since = before.get("lastTransitionTime") or since
    condition = {
        "type": type,
        "status": status,
        "observedGeneration": generation(obj),
        "lastTransitionTime": since,
        "reason": reason,
        "message": message[:MAX_MESSAGE],
    }
    if condition == before:
        return False
    held = obj["status"] = obj.get("status") or {}
    conditions = held["conditions"] = held.get("conditions") or []
    if before is None:
        conditions.append(condition)
    else:
        conditions[conditions.index(before)] = condition
    return True
