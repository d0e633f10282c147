"""Builds the Ready condition and the conditions of problems.

It also decides whether a new Ready condition replaces the present one; `patch_helper`
writes it.

Pure. Wire contract with ASO: one condition of type `Ready`, which is all that its tools
read, with status, severity, reason, message, observedGeneration and lastTransitionTime.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

import attrs

from asoreconcile.azure.arm.condition_error import Severity
from asoreconcile.base.objects import JsonObject, status

READY = "Ready"
# Not in ASO. Present only while a sync in mode `report` has found drift.
DRIFTED = "Drifted"
# Not in ASO. Present while exported values could not be fetched again.
# A resource that is gone from Azure, and is not created again now.
GONE = "AzureResourceNotFound"
EXPORT_REFUSED = "FailedWritingAdditionalKubernetesObjects"
EXPORT_FAILED = "ExportFailed"
# Not in ASO. Present while the check that the operator was told to rely on is missing.
SECRETS_UNCHECKED = "SecretsUnchecked"
# Not in ASO. Present for an hour after a reconcile of the object held the process.
TAKEN_LAST = "TakenLast"
# The reason if a check of an extension holds a PUT back.
BLOCKED = "ReconciliationBlocked"
# The longest message that Kubernetes allows in its own conditions.
MAX_MESSAGE = 32_768
ReadyStatus = Literal["True", "False", "Unknown"]

# Reasons that a fresh `Reconciling` may replace at the same generation (R3.3): the
# cause lies outside the object and may be gone.
_CURABLE = frozenset(
    {
        "ReferenceNotFound",
        "SecretNotFound",
        "ConfigMapNotFound",
        "AzureResourceNotFound",
        "WaitingForOwner",
        "WaitingForReference",
    }
)


_PROGRESS = frozenset({"Reconciling", "Deleting"})


def _bounded(message: str) -> str:
    if len(message) <= MAX_MESSAGE:
        return message
    return message[: MAX_MESSAGE - 3] + "..."


@attrs.frozen
class ReadyCondition:
    """A Ready condition; `observed_generation` is read at the start of the reconcile.

    message: cut at MAX_MESSAGE characters; the log has the whole.
    """

    status: ReadyStatus
    reason: str
    severity: Severity = ""
    message: str = attrs.field(default="", converter=_bounded)
    observed_generation: int = 0

    def to_json(self, last_transition: str) -> JsonObject:
        """Return the condition as an entry of `status.conditions`.

        Empty members are left out, as Go clients do.
        """
        condition: JsonObject = {
            "type": READY,
            "status": self.status,
            "lastTransitionTime": last_transition,
            "reason": self.reason,
            "severity": self.severity,
            "message": self.message,
            "observedGeneration": self.observed_generation,
        }
        return {name: value for name, value in condition.items() if value}


def succeeded(generation: int) -> ReadyCondition:
    """Return Ready=True for a generation of the spec."""
    return ReadyCondition("True", "Succeeded", observed_generation=generation)


def reconciling(generation: int) -> ReadyCondition:
    """Return Ready=False for a resource that Azure creates or updates, with severity
    Info.
    """
    text = "The resource is being created or updated in Azure"
    return ReadyCondition("False", "Reconciling", "Info", text, generation)


def recreating(generation: int) -> ReadyCondition:
    """Return Ready=False for a resource that was deleted in Azure and that a PUT will
    create again.
    """
    text = "The resource is gone from Azure, and is being created again"
    return ReadyCondition("False", "AzureResourceNotFound", "Warning", text, generation)


def deleting(generation: int) -> ReadyCondition:
    """Return Ready=False for a resource that Azure deletes, with severity Info."""
    text = "The resource is being deleted in Azure"
    return ReadyCondition("False", "Deleting", "Info", text, generation)


def find_ready(conditions: Sequence[JsonObject] | None) -> JsonObject | None:
    """Return the Ready condition among `status.conditions`, or None."""
    for condition in conditions or ():
        if condition.get("type") == READY:
            return condition
    return None


def ready_of(obj: JsonObject) -> JsonObject:
    """Return the Ready condition of an object; {} if it has none."""
    return find_ready(status(obj).get("conditions")) or {}


def is_ready(obj: JsonObject, generation: int | None = None) -> bool:
    """Return whether an object's Ready condition is True. generation: the generation
    that the condition must name; None for any.
    """
    ready = ready_of(obj)
    is_of_it = generation is None or ready.get("observedGeneration") == generation
    return is_of_it and ready.get("status") == "True"


def severity_of_wait(obj: JsonObject, generation: int) -> Severity:
    """Return the severity of a wait: Info, or Warning if it has to replace Ready=True,
    as after the change of a Secret.
    """
    return "Warning" if is_ready(obj, generation) else "Info"


def is_long_unready(obj: JsonObject, now: datetime) -> bool:
    """Return whether an object has not been Ready for more than a day."""
    ready = ready_of(obj)
    since, a_day_ago = ready.get("lastTransitionTime"), stamp(now - timedelta(days=1))
    return ready.get("status") == "False" and "" < str(since or "") < a_day_ago


def merge_ready(
    conditions: Sequence[JsonObject] | None,
    new: ReadyCondition,
    now: datetime,
    *,
    stored: JsonObject | None = None,
    reason_aware: bool = False,
) -> list[JsonObject]:
    """Return `status.conditions` with a new Ready condition, if the new one may replace
    the old (R3.1-R3.7).

    It may if its generation is higher, or if it differs and ranks at least as high.
    reason_aware: whether it may also if its rank is lower, because this reconcile has
    found that the old reason no longer holds. Conditions of other types are kept.

    As in Kubernetes, lastTransitionTime changes only with the status, not with the
    message: it tells for how long an object has not been Ready. stored: the condition
    in the cluster; if the new condition equals it, its time is kept.
    """
    others = [c for c in conditions or () if c.get("type") != READY]
    old = find_ready(conditions)
    if old is None:
        return [*others, new.to_json(stamp(now))]
    if not _replaces(old, new, reason_aware=reason_aware):
        return [*others, old]
    kept = old.get("lastTransitionTime") if old.get("status") == new.status else None
    fresh = new.to_json(str(kept or stamp(now)))
    same = stored if stored is not None and _says_the_same(stored, fresh) else None
    return [*others, fresh if same is None else same]


def merge_problem(
    conditions: Sequence[JsonObject] | None,
    type_: str,
    reason: str,
    message: str,
    now: datetime,
    *,
    generation: int,
    stored: Sequence[JsonObject] | None = None,
) -> list[JsonObject]:
    """Return `status.conditions` with the condition of a problem before Ready, or
    without that condition.

    message: text of the condition, cut at MAX_MESSAGE characters; if "", the condition
    is removed. stored: the conditions in the cluster; an equal one keeps its time.
    """
    others = [c for c in conditions or () if c.get("type") != type_]
    if not message:
        return others
    fresh = {
        "type": type_,
        "status": "True",
        "lastTransitionTime": stamp(now),
        "reason": reason,
        "severity": "Warning",
        "message": _bounded(message),
        "observedGeneration": generation,
    }
    for old in stored or ():
        if old.get("type") == type_ and _says_the_same(old, fresh):
            return [old, *others]
    return [fresh, *others]


def _says_the_same(one: JsonObject, other: JsonObject) -> bool:
    time = {"lastTransitionTime": None}
    return {**one, **time} == {**other, **time}


def _replaces(old: JsonObject, new: ReadyCondition, *, reason_aware: bool) -> bool:
    if new.observed_generation > (old.get("observedGeneration") or 0):
        return True
    if (old.get("status"), old.get("severity") or "", old.get("reason")) == (
        new.status,
        new.severity,
        new.reason,
    ) and (old.get("message") or "") == new.message:
        return False
    before = _priority(
        str(old.get("status")), old.get("severity") or "", str(old.get("reason"))
    )
    if _priority(new.status, new.severity, new.reason) >= before:
        return True
    return reason_aware and _rank(new.reason) > _rank(str(old.get("reason")))


def _priority(status: str, severity: str, reason: str) -> int:
    # Only the order counts: errors and final states rank above progress, progress above
    # unknown. A check of severity Info that fails is a final state, too.
    if status == "True":
        return 5
    if status == "False":
        return 4 if severity == "Info" and reason in _PROGRESS else 5
    return 3


def _rank(reason: str) -> int:
    if reason in _CURABLE:
        return -2
    return -1 if reason == "Reconciling" else 0


def stamp(now: datetime) -> str:
    """Return a time as conditions write it, in UTC."""
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")
