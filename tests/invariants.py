"""The invariants of every trial, whatever its faults are."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from estate import ROLES, Estate

from asoreconcile.azure.arm.outcomes import Failed
from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    POLLER_TOKEN,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.base.objects import (
    JsonObject,
    annotations,
    finalizers,
    is_deleting,
    uid_of,
)


class Invariants:
    """Checks of each write before and after it."""

    def __init__(self, estate: Estate) -> None:
        self._estate = estate
        self._claimed: set[str] = set()
        self._accepted: Counter[str] = Counter()
        self._password = ""

    def around(
        self,
        name: str,
        effect: Callable[[], Any],
        *,
        acting_on: JsonObject,
        seen: dict[str, JsonObject],
    ) -> Any:
        """Make a write of a reconcile, and check it.

        acting_on: object as the reconcile read it.
        seen: resources that Azure showed to the reconcile, by id in lower case.
        """
        what, _, role = name.partition(" ")
        if what == "delete":
            assert is_deleting(acting_on), "a delete nobody asked for"
        if what == "put":
            self._before_put(role, acting_on)
        answer = effect()
        if what == "put" and not isinstance(answer, Failed):
            self._accepted[role] += 1
        if what == "claim":
            self._claimed.add(uid_of(answer))
        if what == "release" and role not in self._estate.exempt:
            held = annotations(acting_on).get(RESOURCE_ID)
            assert not held or self._estate.in_azure(role) is None, "let go too early"
        if what == "status":
            self._status_is_true(role, answer, seen)
        return answer

    def note_put(self, body: JsonObject) -> None:
        """Remember the password of a PUT that Azure accepted."""
        properties = body.get("properties") or {}
        self._password = properties.get("administratorLoginPassword", self._password)

    def at_rest(self) -> None:
        """Check that every wanted object exists in its last edition, and
        nothing else.
        """
        estate = self._estate
        for role in estate.wanted:
            present, resource = estate.present(role), estate.in_azure(role)
            assert present is not None, f"{role} is gone"
            assert resource is not None, f"{role} is Ready, and not in Azure"
            has = int(resource["tags"]["edition"])
            assert has == estate.edition(role), f"{role}: an edit was not put"
            assert POLLER_TOKEN not in annotations(present), f"{role}: a token left"
            assert FINALIZER in finalizers(present), f"{role} has no finalizer"
        for role in set(ROLES) - estate.wanted:
            assert estate.present(role) is None, f"{role} does not go"
        if "server" in estate.wanted:
            assert self._password == estate.password, "the new password was not put"

    def at_the_end(self, *, managers: int) -> None:
        """Check that nothing is left in Azure, and that the requests had reasons.

        Each reason allows one PUT; the fault and the lost memory allow two more.
        """
        estate = self._estate
        left = {role for role in ROLES if estate.in_azure(role) is not None}
        estate.world.azure.remove(estate.arm_id("group"))
        below = {"server"} if "group" in estate.exempt else set()
        assert left <= estate.exempt | below, f"orphans: {left}"
        for role, puts in self._accepted.items():
            reasons = estate.reasons[role]
            most = (reasons + 2) * managers
            assert puts <= most, f"{puts} PUTs of {role} for {reasons} reasons"

    def _before_put(self, role: str, acting_on: JsonObject) -> None:
        assert not is_deleting(acting_on), "a PUT for what is to go"
        uid = uid_of(acting_on)
        claimed = FINALIZER in finalizers(acting_on) or uid in self._claimed
        assert claimed, "a PUT before the claim is stored"
        present = self._estate.present(role)
        if present is None or uid_of(present) != uid:
            # The object was removed by force, or by the other process, while the PUT
            # was sent.
            self._estate.exempt.add(role)

    def _status_is_true(
        self, role: str, written: JsonObject, seen: dict[str, JsonObject]
    ) -> None:
        """Check that a condition claims only what Azure showed to the reconcile."""
        ready = find_ready(written["status"]["conditions"])
        assert ready is not None, "a status without Ready"
        if ready["reason"] == "Deleting":
            assert is_deleting(written), "Deleting what stays"
        if ready["status"] != "True":
            return
        shown = seen.get(self._estate.arm_id(role).lower())
        assert shown is not None, "Ready without having looked"
        said = self._estate.edition_at(written, ready["observedGeneration"])
        has = int((shown.get("tags") or {}).get("edition", 0))
        assert has >= said, f"Ready at edition {said}, Azure had {has}"
