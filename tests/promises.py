"""The promises of the pages, asked at each write and at each rest of a life.

The judge knows who made each resource, whose PUTs Azure accepted, and the texts
that people have written on the objects. It uses none of the operator's records and decisions.
"""

from collections import Counter
from typing import Any

from lifeplan import WINDOW_HOUR

from asoreconcile.azure.arm.outcomes import Failed
from asoreconcile.azure.reconcile.model.annotations import (
    DELETION_PROTECTION,
    FOREIGN_TAGS,
    MAINTENANCE_WINDOWS,
    ON_IMMUTABLE,
    PAUSED,
    RECONCILE_AT,
    RECONCILE_POLICY,
    RECONCILED_AT,
    SYNC_PERIOD,
)
from asoreconcile.azure.reconcile.model.existence import IF_EXISTS
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE
from asoreconcile.base.objects import (
    JsonObject,
    dig,
    generation,
    is_deleting,
    key_of,
    uid_of,
)

# Reasons of Ready=False that a rest may have, and that `_require_true` checks.
_WAITS = {
    *("AlreadyExists", "AlreadyManaged", "DeclaredByAnother", "DeletionProtected"),
    *("OutsideMaintenanceWindow", "Paused", "AzureResourceNotFound", "PutBudgetSpent"),
    *("WaitingForOwner", "ReferenceNotFound", "Deleting", "NotAllowedInNamespace"),
    "ResourceGroupNotFound",
}


class Promises:
    """The judge of one life; `life` has its objects and its Azure."""

    def __init__(self, life: Any) -> None:
        self._life = life
        # By id in lower case; uids of objects.
        self._manager: dict[str, str] = {}
        self._accepted: dict[str, set[str]] = {}
        self._theirs: set[str] = set()
        self._tags: dict[str, set[str]] = {}
        self._there: set[str] = set()
        self._seen: dict[str, JsonObject] = {}
        self._puts: Counter[str] = Counter()
        self._broken = ""

    # The acts of colleagues.

    def foreign_tag(self, id_: str, tag: str) -> None:
        self._tags.setdefault(id_, set()).add(tag)

    def removed(self, id_: str) -> None:
        for known in self._all_below(id_):
            self._theirs.discard(known)
            self._tags.pop(known, None)

    def made_by_colleague(self, id_: str) -> None:
        self._theirs.add(id_)
        self._manager.pop(id_, None)
        self._accepted.pop(id_, None)

    def _all_below(self, id_: str) -> list[str]:
        known = {*self._theirs, *self._tags, *self._manager}
        return [k for k in known if k == id_ or k.startswith(id_ + "/")]

    # Writes.

    def before(self, name: str, role: str) -> None:
        verb, _, arm_id = name.partition(" ")
        id_ = arm_id.lower()
        if verb not in {"put", "delete"} or not id_.startswith("/subscriptions"):
            return None
        obj, have = self._life.present(role), self._life.in_azure()
        self._there = {*have}
        if obj is None:
            return self._break(f"{role} is gone and sends {verb} {id_}")
        what = f"{role} sends {verb.upper()} for {id_}"
        if self._is_paused(obj):
            self._break(f"{what}, and is paused")
        if self._is_closed(obj) and not self._says_recreated():
            self._break(f"{what} outside its window")
        if self._policy(obj) == "skip":
            self._break(f"{what}, and its policy is skip")
        if verb == "put":
            self._before_put(what, role, obj, id_, have)
        else:
            self._before_delete(what, role, obj, id_, have)
        return None

    def _before_put(
        self, what: str, role: str, obj: JsonObject, id_: str, have: JsonObject
    ) -> None:
        if is_deleting(obj):
            self._break(f"{what}, and is being deleted")
        uid = uid_of(obj)
        choice = self._value(obj, IF_EXISTS)
        has_written = uid in self._accepted.get(id_, ())
        is_there = id_ in have
        manager = self._manager.get(id_)
        # A manager that is deleted hands over by agreement.
        is_handed_over = any(
            uid_of(found) == manager and is_deleting(found)
            for found in self._life.roles().values()
        )
        is_asked = is_there and not has_written and not is_handed_over
        if is_asked and choice in {"fail", "observe"}:
            self._break(f"{what}, which was there, with if-exists {choice}")
        for other, found in self._life.roles().items():
            if (
                is_there
                and uid_of(found) == manager != uid
                and self._life.id_of(other) == id_
                and not is_deleting(found)
                and self._policy(found) != "skip"
            ):
                self._break(f"{what}, which {other} manages")

    def _before_delete(
        self, what: str, role: str, obj: JsonObject, id_: str, have: JsonObject
    ) -> None:
        uid = uid_of(obj)
        is_leaving = is_deleting(obj)
        if not is_leaving and self._value(obj, ON_IMMUTABLE) != "recreate":
            self._break(f"{what}, which nobody deletes")
        if id_ in have and uid not in self._accepted.get(id_, ()):
            self._break(f"{what}, and Azure never accepted a PUT of it")
        if self._policy(obj) == "detach-on-delete":
            self._break(f"{what}, and its policy is detach-on-delete")
        if id_ not in have:
            return
        for other, found in self._life.roles().items():
            declared = self._life.id_of(other)
            is_within = declared == id_ or declared.startswith(id_ + "/")
            same_space = _space(found) == _space(obj)
            is_other = not is_deleting(found) or declared != id_
            if is_within and same_space and is_other and self._is_protected(found):
                self._break(f"{what}, and {other} is protected")
            # From another Namespace, an object that never wrote needs a read of the id,
            # which a fault may refuse.
            has_read = same_space or not self._life.has_read_faults
            if (
                declared == id_
                and (has_read or uid_of(found) in self._accepted.get(id_, ()))
                and uid_of(found) != uid
                and not is_deleting(found)
                and self._policy(found) != "skip"
                and self._value(found, IF_EXISTS) != "observe"
                and self._has_owner(found)
            ):
                self._break(f"{what}, which {other} declares")
            if declared == id_ and uid_of(found) == uid and self._is_protected(found):
                self._break(f"{what}, and is protected")
        if not is_leaving:
            for below in have:
                if below.startswith(id_ + "/") and below in self._theirs:
                    self._break(f"{what} to make it again, with {below} of a colleague")

    def _has_owner(self, obj: JsonObject) -> bool:
        """Return whether the owner of an object is there: without it the id that the
        object declares is not known.
        """
        name = dig(obj, "spec.owner.name")
        space = _space(obj)
        return name is None or any(
            _space(one) == space and key_of(one).name == name
            for one in self._life.roles().values()
        )

    def after(self, name: str, role: str, answer: object) -> None:
        verb, _, arm_id = name.partition(" ")
        id_ = arm_id.lower()
        if isinstance(answer, Failed) or not id_.startswith("/subscriptions"):
            return
        obj = self._life.present(role)
        if verb == "put" and obj is not None:
            if id_ not in self._there:
                self._theirs.discard(id_)
                self._tags.pop(id_, None)
            if self._value(obj, FOREIGN_TAGS) == "replace":
                self._tags.pop(id_, None)
            self._accepted.setdefault(id_, set()).add(uid_of(obj))
            self._manager[id_] = uid_of(obj)
            self._puts[role] += 1
        elif verb == "delete":
            self.removed(id_)

    def require_kept(self) -> None:
        """Raise outside of the reconcile, which would make a condition of it."""
        assert not self._broken, self._broken

    def _break(self, text: str) -> None:
        self._broken = self._broken or text

    # Objects that go.

    def note_gone(self, roles: dict[str, JsonObject]) -> None:
        """Check what is left of objects that are gone from the cluster."""
        for role, before in self._seen.items():
            now = roles.get(role)
            if now is None or uid_of(now) != uid_of(before):
                self._require_no_orphan(role, before, roles)
        self._seen = roles

    def _require_no_orphan(
        self, role: str, gone: JsonObject, roles: dict[str, JsonObject]
    ) -> None:
        id_ = self._life.id_of(role)
        if self._manager.get(id_) != uid_of(gone) or id_ not in self._life.in_azure():
            return
        keeps = self._policy(gone) != "manage" or self._is_protected(gone)
        heirs = [
            other
            for other, found in roles.items()
            if self._life.id_of(other) == id_ and not is_deleting(found)
        ]
        is_protected_below = any(
            self._life.id_of(other).startswith(id_ + "/") and self._is_protected(found)
            for other, found in roles.items()
        )
        message = f"{role} is gone, and {id_} is left in Azure"
        assert keeps or heirs or is_protected_below, message

    # Rest.

    def at_rest(self) -> None:
        """Check the conditions and the resources while nothing happens."""
        have, roles = self._life.in_azure(), self._life.roles()
        for role, obj in roles.items():
            ready = self._life.world.ready(obj) or {}
            assert ready or self._is_paused(obj), f"{role} has no condition"
            if ready.get("status") == "True":
                self._require_in_order(role, obj, ready, have)
            elif ready:
                self._require_true(role, obj, ready, have, roles)
        self._require_foreign_tags(have)
        self._require_exports(roles, have)
        for role, puts in self._puts.items():
            most = 3 * self._life.reasons[role] + 6
            assert puts <= most, f"{role}: {puts} PUTs for {most} at most"

    def at_the_end(self) -> None:
        """Check that everything is gone, and that what is left is others' or kept."""
        roles, have = self._life.roles(), self._life.in_azure()
        for role, obj in roles.items():
            ready = self._life.world.ready(obj) or {}
            message = (
                f"{role} does not go: {ready.get('reason')} {ready.get('message')}"
            )
            assert self._policy(obj) == "manage", message
            assert ready.get("reason") in _WAITS, message
            self._require_true(role, obj, ready, have, roles)

    def _require_in_order(
        self, role: str, obj: JsonObject, ready: JsonObject, have: JsonObject
    ) -> None:
        if ready.get("observedGeneration") != generation(obj) or self._is_paused(obj):
            held = self._is_paused(obj) or is_deleting(obj)
            assert held, f"{role} is Ready, and an edit was not taken up"
            return
        body = have.get(self._life.id_of(role))
        if body is None and self._value(obj, SYNC_PERIOD) == "never":
            return  # the author has asked for no look
        assert body is not None, f"{role} is Ready, and nothing is in Azure"
        writes = self._policy(obj) != "skip" and not self._only_reads(obj)
        if not writes or self._value(obj, SYNC_MODE) == "report":
            return
        wanted = (obj["spec"].get("tags") or {}).get("edition")
        found = (body.get("tags") or {}).get("edition")
        is_pending = self._has(obj, "Drifted")
        assert wanted == found or is_pending, (
            f"{role} is Ready with edition {wanted}, and Azure has {found}"
        )

    def _require_true(
        self,
        role: str,
        obj: JsonObject,
        ready: JsonObject,
        have: JsonObject,
        roles: dict[str, JsonObject],
    ) -> None:
        """Check that a condition says the truth."""
        reason, text = ready["reason"], str(ready.get("message"))
        said = f"{role} says {reason}: {text}"
        id_, uid = self._life.id_of(role), uid_of(obj)
        assert reason in _WAITS, said
        rivals = {
            other: found
            for other, found in roles.items()
            if other != role and self._life.id_of(other) == id_
        }
        match reason:
            case "AlreadyExists":
                assert id_ in have, f"{said}; Azure does not have it"
                assert self._manager.get(id_) != uid, f"{said}; it manages it"
            case "AlreadyManaged":
                named = [o for o in rivals if f"{o}{self._life.number}" in text]
                assert named, f"{said}; there is no such object"
            case "DeclaredByAnother":
                assert rivals, f"{said}; there is no such object"
                assert is_deleting(obj), said
            case "DeletionProtected":
                below = any(
                    self._life.id_of(o).startswith(id_) and self._is_protected(f)
                    for o, f in roles.items()
                )
                assert below, f"{said}; nothing is protected"
                assert is_deleting(obj), said
            case "OutsideMaintenanceWindow":
                assert self._is_closed(obj), f"{said}; the window is open"
            case "Paused":
                assert self._is_paused(obj), f"{said}; it is not"
            case "AzureResourceNotFound":
                assert id_ not in have, f"{said}; Azure has it"
                keeps = self._policy(obj) == "skip" or self._only_reads(obj)
                reports = self._value(obj, SYNC_MODE) == "report"
                assert keeps or reports or self._is_closed(obj), said
            case "WaitingForOwner" | "ReferenceNotFound":
                owner = self._life.owner_of(role)
                is_ready = owner in roles and self._is_ready(roles[owner])
                assert not is_ready, f"{said}; {owner} is Ready"
            case "Deleting":
                assert is_deleting(obj), said
            case "ResourceGroupNotFound":
                group = id_.partition("/providers/")[0]
                assert group not in have, f"{said}; Azure has the group"
            case _:
                pass

    def _require_foreign_tags(self, have: JsonObject) -> None:
        for id_, tags in self._tags.items():
            found = (have.get(id_) or {"tags": dict.fromkeys(tags)}).get("tags") or {}
            assert tags <= found.keys(), f"{id_} has lost tags of a colleague"

    def _require_exports(self, roles: dict[str, JsonObject], have: JsonObject) -> None:
        obj = roles.get("account")
        if obj is None or not self._is_ready(obj) or self._is_paused(obj):
            return
        found = self._life.secret()
        assert found is not None, "account is Ready, and its Secret is gone"
        spoiled = "c3BvaWxlZA=="
        assert spoiled not in found["data"].values(), "the Secret is spoiled"

    # The texts that people have written on the objects.

    def _notes(self, obj: JsonObject) -> JsonObject:
        notes: JsonObject = obj["metadata"].get("annotations") or {}
        return notes

    def _value(self, obj: JsonObject, name: str) -> str | None:
        inherited = self._life.namespace_notes(_space(obj))
        return self._notes(obj).get(name) or inherited.get(name)

    def _policy(self, obj: JsonObject) -> str:
        return self._value(obj, RECONCILE_POLICY) or "manage"

    def _only_reads(self, obj: JsonObject) -> bool:
        return self._value(obj, IF_EXISTS) == "observe"

    def _is_on(self, obj: JsonObject, name: str) -> bool:
        inherited = self._life.namespace_notes(_space(obj))
        return "true" in {self._notes(obj).get(name), inherited.get(name)}

    def _is_paused(self, obj: JsonObject) -> bool:
        return self._is_on(obj, PAUSED)

    def _is_protected(self, obj: JsonObject) -> bool:
        return self._is_on(obj, DELETION_PROTECTION)

    def _is_closed(self, obj: JsonObject) -> bool:
        notes = self._notes(obj)
        asked = notes.get(RECONCILE_AT)
        if not self._value(obj, MAINTENANCE_WINDOWS):
            return False
        is_asked = bool(asked) and asked != notes.get(RECONCILED_AT)
        return not is_asked and self._life.world.clock.now().hour != WINDOW_HOUR

    def _says_recreated(self) -> bool:
        found = self._life.roles().values()
        return any(self._value(obj, ON_IMMUTABLE) == "recreate" for obj in found)

    def _is_ready(self, obj: JsonObject) -> bool:
        return self._has(obj, "Ready")

    def _has(self, obj: JsonObject, type_: str) -> bool:
        conditions = (obj.get("status") or {}).get("conditions") or ()
        return any(c["type"] == type_ and c["status"] == "True" for c in conditions)


def _space(obj: JsonObject) -> str:
    return str(obj["metadata"]["namespace"])
