"""The plan of a recreation: which resources go with the deleted one and are made again.

An annotation of the recreated object records the plan before the DELETE, with a mark of
the operator's key that binds it to the object. Once the resource is gone, the PUTs of
all objects in the plan belong to one operation. Rule: OW-6. Pure.
"""

from collections.abc import Callable
from datetime import UTC, datetime

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import RECREATION_PLAN
from asoreconcile.azure.reconcile.model.drift_baseline import last_put_of
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.azure.reconcile.model.recreation import Stage, recreation_of
from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject, uid_of

_KIND = "recreation-plan"


@attrs.frozen
class RecreationPlan:
    """A recorded plan. at: the time of its record, in whole seconds. arm_ids: the ids
    of the resource and of all below it that go with it.
    """

    at: datetime
    arm_ids: tuple[str, ...]

    def dumps(self, uid: str, key: RecordKey) -> str:
        """Return the annotation's value. uid: uid of the recreated object."""
        at = self.at.astimezone(UTC).isoformat(timespec="seconds")
        found = {"at": at, "ids": [*self.arm_ids]}
        body = jsontext.dumps(found).decode()
        return f"{key.sign((_KIND, uid, body))} {body}"


def plan_of(obj: JsonObject, key: Callable[[], RecordKey]) -> RecreationPlan | None:
    """Return the recorded plan of an object whose resource is gone, as long as it was
    not put again; None if there is none.

    key: function that returns the key, as for `recreation_of`.
    """
    mark, _, body = (annotations(obj).get(RECREATION_PLAN) or "").partition(" ")
    if not body:
        return None
    stage = recreation_of(obj, key)
    if stage is None or stage.stage is not Stage.DELETED:
        return None
    if not key().verify((_KIND, uid_of(obj), body), mark):
        return None
    found = jsontext.loads(body)
    arm_ids = tuple(map(str, found["ids"]))
    return RecreationPlan(datetime.fromisoformat(found["at"]), arm_ids)


def is_awaited(plan: RecreationPlan, obj: JsonObject, arm_id: str) -> bool:
    """Return whether an object of the plan has not put its resource again yet."""
    if not any(ids.same(one, arm_id) for one in plan.arm_ids):
        return False
    last = last_put_of(annotations(obj))
    # Records of PUTs have whole seconds.
    return last is None or not last.at or datetime.fromisoformat(last.at) < plan.at


def why_gone(plan: RecreationPlan, by: str) -> str:
    """Return what has happened to a resource of the plan, for its condition. by: the
    recreated object, in words.
    """
    return (
        f"the resource is gone since {plan.at:%Y-%m-%dT%H:%M:%SZ}: {by} has deleted it "
        "in order to have it made again, which also goes on outside maintenance windows"
    )
