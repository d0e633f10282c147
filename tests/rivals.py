"""Random lives of two objects in two namespaces that declare Azure resources.

A life is a seeded sequence of edits, faults, kills, policy changes and deletions, each
followed by some reconciles. The objects declare a shared resource or one of their own.
The rules that hold throughout are in `Rivals`; time moves only when a life advances the
clock, and nothing runs by itself, so a seed is a whole life again.
"""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs
from globalconnection import GlobalConnection
from taps import ArmTap, CrashError, KubeTap
from world import SYNC_SECONDS

from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.azure.reconcile.model.policy import Policy, policy_of
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    annotations,
    generation,
    is_deleting,
    key_of,
    spec,
)
from asoreconcile.kube.errors import ApiError, TransportError
from asoreconcile.kube.resources import NAMESPACES

SPACES = ("red", "blue")
NAMES = ("shared", "own")
POLICIES = (None, "manage", "skip", "detach-on-delete")
_STEPS = 14
_ROUNDS = 60
# A failure that waits for others is tried again after three minutes.
_LONG_SECONDS = 170.0


@attrs.define
class Tally:
    """The counts of one object's life. puts: accepted ones. reasons: events of the life
    that may each need a PUT.
    """

    puts: int = 0
    reasons: int = 0


class Rivals:
    """One life. Raises AssertionError if a rule is broken.

    - No resource is destroyed that a live object with a writing policy declares.
    - At the end no resource is left that was ours to delete and is declared by none.
    - At the end each Ready object that writes has its tags in Azure.
    - PUTs are bounded by the number of events in the object's life.
    """

    def __init__(
        self, world: Any, group_id: str, seed: int, make: Callable[..., JsonObject]
    ) -> None:
        """make: (name, namespace, azureName, mark, group) -> the manifest."""
        self.story: list[str] = []
        self._world = world
        self._group = group_id
        self._draw = random.Random(seed)
        self._make = make
        self._mark = 0
        self._seed = seed
        self._tally = {space: Tally() for space in SPACES}
        self._crash: list[Any] | None = None
        self._let_go: Counter[str] = Counter()
        self._acting = ""
        self._broken = ""
        self._managed: dict[str, set[str]] = {}
        self._operator = self._new_operator()

    def live(self) -> None:
        """Run the life to its end."""
        for _ in range(_STEPS):
            space = self._draw.choice(SPACES)
            act = self._draw.choice(
                (
                    *(self._apply, self._apply, self._apply, self._delete),
                    *(self._object_policy, self._namespace_policy, self._foreign),
                    *(self._fault, self._fault, self._kill, self._pass_time),
                )
            )
            act(space)
            for _ in range(self._draw.randint(0, 4)):
                self._reconcile(self._draw.choice(SPACES))
        self._come_to_rest()
        self._check()
        for space in SPACES:
            self._say(f"delete {space} at the end")
            self._delete(space)
        self._come_to_rest()
        self._check()

    # The events.

    def _say(self, text: str) -> None:
        self.story.append(text)

    def _apply(self, space: str) -> None:
        present = self._present(space)
        if present is not None and is_deleting(present):
            return
        name = (
            self._draw.choice(NAMES)
            if present is None
            else str(spec(present)["azureName"])
        )
        self._mark += 1
        name = name if name == "shared" or present is not None else f"{name}-{space}"
        self._say(f"apply {space} as {name}, mark {self._mark}")
        self._tally[space].reasons += 1
        manifest = self._manifest(space, name, str(self._mark))
        self._world.apply(manifest)

    def _delete(self, space: str) -> None:
        present = self._present(space)
        if present is not None and not is_deleting(present):
            self._say(f"delete {space}")
            self._world.azure.faults.clear()
            self._world.client.delete(self._resource(present), key_of(present))

    def _object_policy(self, space: str) -> None:
        present = self._present(space)
        if present is None:
            return
        policy = self._draw.choice(POLICIES)
        self._say(f"{space}: policy {policy}")
        self._tally[space].reasons += 1
        body = {"metadata": {"annotations": {RECONCILE_POLICY: policy}}}
        self._world.client.patch(self._resource(present), key_of(present), body)

    def _namespace_policy(self, space: str) -> None:
        policy = self._draw.choice(POLICIES)
        self._say(f"Namespace {space}: policy {policy}")
        self._tally[space].reasons += 1
        body = {"metadata": {"annotations": {RECONCILE_POLICY: policy}}}
        self._world.client.patch(NAMESPACES, ObjectKey("", space), body)

    def _is_leaving(self) -> bool:
        return any((o := self._present(s)) and is_deleting(o) for s in SPACES)

    def _foreign(self, space: str) -> None:
        """Another client removes a resource in Azure, or changes its tags."""
        ids = sorted(self._in_azure())
        if not ids:
            return
        id_ = self._draw.choice(ids)
        for tally in self._tally.values():
            tally.reasons += 1
        if self._draw.random() < 0.5:
            self._say(f"somebody removes {id_.rpartition('/')[2]}")
            self._world.azure.remove(id_)
        else:
            self._say(f"somebody changes {id_.rpartition('/')[2]}")
            body = {**self._in_azure()[id_], "tags": {"mark": f"foreign {space}"}}
            self._world.azure.seed(id_, body)

    def _fault(self, space: str) -> None:
        method = self._draw.choice(("GET", "PUT", "DELETE"))
        status, code = self._draw.choice(
            (
                (503, "Unavailable"),
                (404, "ResourceNotFound"),
                (404, "SubscriptionNotFound"),
                (409, "Conflict"),
            )
        )
        if code == "ResourceNotFound" and (method == "DELETE" or self._is_leaving()):
            return  # A deletion must believe it.
        self._say(f"fault: {method} {status} {code}")
        for tally in self._tally.values():
            tally.reasons += 1
        del space
        self._world.azure.faults.answer(
            method, "/virtualNetworks/", status, code=code, times=1
        )

    def _kill(self, space: str) -> None:
        """The process dies before or after one of its next writes."""
        del space
        after = self._draw.randint(0, 4)
        when = self._draw.choice(("before", "after", "lost"))
        self._say(f"the process dies {when} write {after} from now")
        for tally in self._tally.values():
            tally.reasons += 2
        self._crash = [after, when]

    def _pass_time(self, space: str) -> None:
        del space
        seconds = self._draw.choice((1.0, 60.0, SYNC_SECONDS))
        self._say(f"{seconds:.0f} s pass")
        self._world.clock.advance(seconds)

    # The operator.

    def _new_operator(self) -> Any:
        world = self._world
        world.restart()
        arm: Any = ArmTap(world.arm, lambda arm_id: arm_id, self._write, lambda _: None)
        return attrs.evolve(
            world.make_operator(),
            client=KubeTap(world.client, {}, self._write),
            connections=GlobalConnection(
                arm, subscription_id=world.azure.subscription_id, source="test/test"
            ),
            sync_mode=SyncMode.COMPARE,
        )

    def _write(self, name: str, effect: Callable[[], Any], lost: Exception) -> Any:
        crash = self._crash
        if crash is not None:
            crash[0] -= 1
            if crash[0] < 0:
                self._crash = None
                if crash[1] == "before":
                    raise CrashError
                self._watched(name, effect)
                raise CrashError if crash[1] == "after" else lost
        return self._watched(name, effect)

    def _watched(self, name: str, effect: Callable[[], Any]) -> Any:
        verb, _, arm_id = name.partition(" ")
        if verb == "delete":
            self._require_free(arm_id)
        answer = effect()
        if verb == "put":
            self._tally[self._acting].puts += 1
            self._managed.setdefault(arm_id.lower(), set()).add(self._acting)
        return answer

    def _reconcile(self, space: str) -> float | None:
        """One reconcile; return the seconds until the next one."""
        manifest = self._manifest(space)
        before = self._present(space)
        self._acting = space
        try:
            result = self._world.run_once(manifest, operator=self._operator)
        except CrashError:
            self._say("(dies)")
            self._operator = self._new_operator()
            return 0.0
        except (ApiError, TransportError):
            return 1.0
        finally:
            self._note_end(space, before)
            # An exception in the middle of a reconcile would become a condition.
            assert not self._broken, self._broken
        seconds: float | None = result.requeue_after_seconds
        return seconds

    def _note_end(self, space: str, before: JsonObject | None) -> None:
        """An object is gone: was its resource ours to delete?"""
        if before is None or self._present(space) is not None:
            return
        self._say(f"({space} is gone)")
        if not self._policy(before).deletes:
            for id_, spaces in self._managed.items():
                if space in spaces and self._id_of(before) == id_:
                    self._let_go[id_] += 1

    def _come_to_rest(self) -> None:
        self._crash = None
        self._world.azure.faults.clear()
        for _ in range(3):
            self._run_until_quiet()
            self._world.clock.advance(SYNC_SECONDS)

    def _run_until_quiet(self) -> None:
        """Reconcile each object when it is due, until both wait for long."""
        due, waits = dict.fromkeys(SPACES, 0.0), dict.fromkeys(SPACES, 0.0)
        for _ in range(_ROUNDS):
            if min(waits.values()) >= _LONG_SECONDS:
                return
            space = min(due, key=lambda s: due[s])
            passed = due[space]
            self._world.clock.advance(passed)
            due = {s: left - passed for s, left in due.items()}
            left = self._reconcile(space)
            due[space] = waits[space] = SYNC_SECONDS if left is None else left
        message = f"never at rest: {self._shown()}"
        raise AssertionError(message)

    # The rules.

    def _require_free(self, arm_id: str) -> None:
        for space in SPACES:
            other = self._present(space)
            if (
                space != self._acting
                and other is not None
                and not is_deleting(other)
                and self._id_of(other) == arm_id.lower()
                and self._policy(other).writes
            ):
                self._broken = (
                    f"{self._acting} deletes {arm_id}, which {space} declares"
                )

    def _check(self) -> None:
        azure = {id_.lower(): body for id_, body in self._in_azure().items()}
        live = {s: o for s in SPACES if (o := self._present(s)) is not None}
        for space, obj in live.items():
            ready = self._ready(obj)
            if (
                ready.get("status") == "True"
                and ready.get("observedGeneration") == generation(obj)
                and self._policy(obj).writes
            ):
                body = azure.get(self._id_of(obj))
                assert body is not None, f"{space} is Ready, and nothing is in Azure"
                assert body.get("tags") == spec(obj)["tags"], f"{space} is Ready"
        declared = {self._id_of(obj) for obj in live.values()}
        for id_ in azure.keys() - declared:
            if id_ in self._managed:
                assert self._let_go[id_], f"{id_} is left and nobody declares it"
        for space, tally in self._tally.items():
            most = 4 * tally.reasons + 6
            assert tally.puts <= most, f"{space}: {tally.puts} PUTs, {most} at most"

    # Reads for the test.

    def _manifest(
        self, space: str, azure_name: str = "shared", mark: str = ""
    ) -> JsonObject:
        name = f"n{self._seed}"
        return self._make(name, space, azure_name, mark, self._group)

    def _present(self, space: str) -> JsonObject | None:
        found: JsonObject | None = self._world.read(self._manifest(space))
        return found

    def _resource(self, obj: JsonObject) -> Any:
        return self._world.resource_for(obj)

    def _policy(self, obj: JsonObject) -> Policy:
        namespace = self._world.client.get(
            NAMESPACES, ObjectKey("", key_of(obj).namespace)
        )
        found = policy_of(annotations(obj), annotations(namespace), Policy.MANAGE)
        assert found is not None  # lives set known policies only
        return found

    def _id_of(self, obj: JsonObject) -> str:
        type_ = "providers/Microsoft.Network/virtualNetworks"
        return f"{self._group}/{type_}/{spec(obj)['azureName']}".lower()

    def _in_azure(self) -> dict[str, JsonObject]:
        start = f"{self._group}/providers/".lower()
        return {
            id_: body
            for id_, body in self._world.azure.resources().items()
            if id_.lower().startswith(start)
        }

    def _ready(self, obj: JsonObject) -> JsonObject:
        conditions = (obj.get("status") or {}).get("conditions") or ()
        return next((c for c in conditions if c["type"] == "Ready"), {})

    def _shown(self) -> JsonObject:
        shown = {}
        for space in SPACES:
            obj = self._present(space)
            shown[space] = None if obj is None else self._ready(obj)
        return shown
