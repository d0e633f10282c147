"""One lifecycle with one fault in it, and what must hold whatever happens.

A resource group and a server in it, with a password from a Secret and values exported,
are created, edited and deleted. At one write a process crashes, loses the answer, or is
overtaken by a change; what must hold is checked at each write and at each rest.
"""

import base64
from collections import Counter

import attrs
from matrix import Cell
from taps import ArmTap, CrashError, KubeTap
from world import SYNC_SECONDS, postgres_server, resource_group

from asoreconcile.azure.owner_reads import OwnerReads
from asoreconcile.azure.reconciler import ArmReconciler
from asoreconcile.azure.wire import (
    FINALIZER,
    LATEST_RECONCILED_GENERATION,
    OPERATOR_NAMESPACE,
    POLLER_ID,
    POLLER_TOKEN,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.conditions import find_ready
from asoreconcile.controllers.connections import GlobalConnection
from asoreconcile.kube.errors import ApiError, NotFoundError, TransportError
from asoreconcile.objects import (
    ObjectKey,
    annotations,
    finalizers,
    generation,
    gvk_of,
    is_deleting,
    uid_of,
)
from asoreconcile.runtime.reconciler import Request

_PASSES = 120
_LIMITER_SECONDS = 1.0
# Changes that an operator is woken by: what they ask for needs no sync.
_WAKING = {
    *("nothing", "edited", "deleted", "recreated", "rotated", "owner-recreated"),
    *("id-removed", "mark-removed", "finalizer-stripped"),
}
_REMOVED = {
    "id-removed": (RESOURCE_ID,),
    "token-removed": (POLLER_TOKEN, POLLER_ID),
    "note-removed": (LATEST_RECONCILED_GENERATION,),
    "mark-removed": (OPERATOR_NAMESPACE,),
}


class Process:
    """An operator process: a reconciler with an empty memory."""

    def __init__(self, trial):
        world = trial.world
        self.arm = ArmTap(world.arm, trial.role, self._write)
        self._trial = trial
        self._kube = KubeTap(world.client, trial.names, self._write)
        self._kinds = {
            gvk_of(obj).group_kind: world.fresh_kind(obj) for obj in trial.objs
        }
        self._operator = attrs.evolve(
            world.operator,
            client=self._kube,
            connections=GlobalConnection(
                self.arm, subscription_id=world.azure.subscription_id, source="test"
            ),
            owner_reads=OwnerReads(world.clock),
        )
        self.read = None

    def run(self, obj):
        """One pass; seconds until the next, or None."""
        kind = self._kinds[gvk_of(obj).group_kind]
        self.arm.seen.clear()
        reconciler = ArmReconciler(self._operator, kind, self)
        try:
            result = reconciler.reconcile(Request(key_of(obj)))
        except (ApiError, TransportError):
            return _LIMITER_SECONDS
        return result.requeue_after_seconds

    def get(self, key):
        """The reader of the pass; what it read is what it acts on."""
        self.read = self._trial.present(self._trial.role_of(key.name))
        return self.read

    def _write(self, name, effect, lost):
        return self._trial.write(self, name, effect, lost)


class Trial:
    """Lives through one cell; raises AssertionError when something does not hold."""

    def __init__(self, world, cell: Cell | None, name: str) -> None:
        self.world = world
        self.cell = cell
        self.writes: list[str] = []
        self.group = resource_group(f"rg-{name}", tags={"edition": "1"})
        self.server = postgres_server(f"db-{name}", f"rg-{name}")
        self._dress(name)
        self.names = {f"rg-{name}": "group", f"db-{name}": "server"}
        self.objs = (self.group, self.server)
        self._editions: dict[tuple[str, int], int] = {}
        self._passwords = 0
        self._exempt: set[str] = set()
        self._claimed: set[str] = set()
        self._since = len(world.azure.journal)
        self.struck = False
        self._wanted: set[str] = set()
        self._woken: dict[str, float] = {}
        self._reasons = Counter()
        self._puts = Counter()
        self.processes = [Process(self)]

    def _dress(self, name):
        """Give the server an input and exports of its own."""
        self.secret_name = f"pw-{name}"
        spec = self.server["spec"]
        spec["administratorLoginPassword"] = {"name": self.secret_name, "key": "p"}
        spec["tags"] = {"edition": "1"}
        out = {"key": "host"}
        spec["operatorSpec"] = {
            "secrets": {"fullyQualifiedDomainName": {"name": f"out-{name}", **out}},
            "configMaps": {"fullyQualifiedDomainName": {"name": f"out-{name}", **out}},
        }

    # The lifecycle.

    def live(self):
        self.apply("group")
        self.rotate()
        self.apply("server")
        self.rest()
        if not self._deleted_early():
            self.edit("server")
            self.rest()
        for role in ("server", "group"):
            self.delete(role)
            self.rest()
        self._check_end()

    def _deleted_early(self):
        return self.struck and self.cell is not None and self.cell.change == "deleted"

    def apply(self, role):
        obj = self.obj(role)
        self._note_edition(self.world.apply(obj))
        self._wanted.add(role)
        self._wake(role)

    def edit(self, role):
        tags = self.obj(role)["spec"]["tags"]
        tags["edition"] = str(int(tags["edition"]) + 1)
        self.apply(role)

    def delete(self, role):
        self._wanted.discard(role)
        try:
            self.world.delete(self.obj(role))
        except NotFoundError:
            return
        present = self.present(role)
        self._wake(role)
        if present is not None:
            self._note_edition(present)

    def rotate(self):
        self._passwords += 1
        encoded = base64.b64encode(self.password.encode()).decode()
        self.world.apply(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": self.secret_name},
                "data": {"p": encoded},
            },
            marked=False,
        )
        self._wake("server")

    def _wake(self, role):
        """Something happened that an operator is told of, or its sync has come."""
        self._woken[role] = 0.0
        self._reasons[role] += 1

    @property
    def password(self):
        return f"secret-{self._passwords}"

    def rest(self):
        """Run passes as they fall due until nothing is left to do; then check.

        What was struck gets one more pass, as at its sync: nothing wakes an object
        whose annotations or finalizers somebody took away.
        """
        struck_before = self.struck
        self._until_calm()
        while missing := [r for r in self._wanted if self.present(r) is None]:
            for role in missing:
                self.apply(role)  # it went with its owner: the user applies it again
            self._until_calm()
        if self.struck and not struck_before:
            if self.cell.change in _WAKING:
                self._check_rest()
            for role in ("group", "server"):
                self._wake(role)
            self._until_calm()
        self._check_rest()

    def _until_calm(self):
        due: dict[str, float] = {}
        for _ in range(_PASSES):
            due.update(self._woken)
            self._woken.clear()
            if not due:
                return
            role = min(due, key=lambda r: due[r])
            if due[role] > 0:
                self.world.clock.advance(due[role])
                due = {r: left - due[role] for r, left in due.items()}
            del due[role]
            left = self._pass(role)
            if left is not None:
                due[role] = left
            elif not self._is_calm(role):
                due[role] = SYNC_SECONDS
        if not due and not self._woken:
            return
        message = f"never comes to rest: {[self.shown(r) for r in self._wanted]}"
        raise AssertionError(message)

    def _pass(self, role):
        """One pass of the process whose turn it is; None when the object is calm."""
        process = self.processes[0]
        self.processes = [*self.processes[1:], process]
        try:
            left = process.run(self.obj(role))
        except CrashError:
            self.processes[self.processes.index(process)] = Process(self)
            left = 0.0
        return None if self._is_calm(role) and (left or SYNC_SECONDS) > 60 else left

    def _is_calm(self, role):
        present = self.present(role)
        if present is None:
            return True
        ready = find_ready((present.get("status") or {}).get("conditions")) or {}
        return (
            not is_deleting(present)
            and ready.get("status") == "True"
            and ready.get("observedGeneration") == generation(present)
        )

    # The fault.

    def write(self, process, name, effect, lost):
        """A process is about to write: let it, or strike."""
        self.writes.append(name)
        cell = self.cell
        if cell is None or self.struck or len(self.writes) - 1 != cell.write:
            return self._observed(process, name, effect)
        self.struck = True
        role = name.rpartition(" ")[2]
        role = role if role in ("group", "server") else "server"
        if cell.fault in ("race", "unsent"):
            self._strike(role)
        if cell.fault == "unsent":
            raise CrashError
        if cell.fault == "race":
            return self._observed(process, name, effect)
        answer = self._observed(process, name, effect)
        self._strike(role)
        if cell.fault == "unrecorded":
            raise CrashError
        if cell.fault == "lost":
            raise lost
        return answer

    def _strike(self, role):
        self._change(self.cell.change, role)
        if self.cell.managers == 2:
            second = Process(self)
            self.processes = [*self.processes, second]
            second.run(self.obj(role))
            self._wake(role)  # it has it in its queue, too

    def _change(self, change, role):
        match change:
            case "edited":
                if role in self._wanted:
                    self.edit(role)
            case "deleted":
                for each in ("server", "group") if role == "group" else ("server",):
                    self.delete(each)
            case "finalizer-stripped":
                self._strip(role)
            case "detached":
                self._patch(role, {RECONCILE_POLICY: "detach-on-delete"})
                self._exempt.add(role)
            case "recreated":
                self._recreate(role)
            case "owner-recreated":
                self._recreate("group")
            case "rotated":
                self.rotate()
            case "nothing":
                pass
            case _:
                present = self.present(role)
                if change == "id-removed" and present and is_deleting(present):
                    self._exempt.add(role)  # R5.2: Azure is left alone
                self._patch(role, dict.fromkeys(_REMOVED[change]))
                if change in _WAKING:
                    self._wake(role)

    def _strip(self, role):
        present = self.present(role)
        if present is None:
            return
        if is_deleting(present):
            self._exempt.add(role)  # a person took the object away by force
        self.world.client.patch(
            self.world.resource_for(present),
            key_of(present),
            {"metadata": {"finalizers": None}},
        )
        self._wake(role)

    def _recreate(self, role):
        """By force: the finalizer taken off, the object deleted, applied again."""
        wanted = role in self._wanted
        self.delete(role)
        self._strip(role)
        if wanted:
            self._exempt.discard(role)
            self.apply(role)

    def _patch(self, role, notes):
        present = self.present(role)
        if present is not None:
            self.world.client.patch(
                self.world.resource_for(present),
                key_of(present),
                {"metadata": {"annotations": notes}},
            )

    # What must hold.

    def _observed(self, process, name, effect):
        what, _, role = name.partition(" ")
        acting_on = process.read
        if what == "delete":
            assert is_deleting(acting_on), "a delete nobody asked for"
        if what == "put":
            assert not is_deleting(acting_on), "a PUT for what is to go"
            assert self._is_claimed(acting_on), "PUT before the claim is stored"
            if uid_of(self.present(role) or acting_on) != uid_of(acting_on) or (
                self.present(role) is None
            ):
                # It went by force, or by the other process, with the PUT on its way.
                self._exempt.add(role)
            self._puts[role] += 1
        answer = effect()
        if what == "claim":
            self._claimed.add(uid_of(answer))
        if what == "release" and role not in self._exempt:
            held = annotations(acting_on).get(RESOURCE_ID)
            assert not held or self.in_azure(role) is None, "let go too early"
        if what == "status":
            self._check_claim(process, role, answer)
        return answer

    def _is_claimed(self, acting_on):
        return FINALIZER in finalizers(acting_on) or uid_of(acting_on) in self._claimed

    def _check_claim(self, process, role, written):
        ready = find_ready(written["status"]["conditions"])
        if ready["status"] == "True":
            seen = process.arm.seen.get(self.arm_id(role).lower())
            assert seen is not None, "Ready without having looked"
            said = self._edition_of(written, ready["observedGeneration"])
            has = int((seen.get("tags") or {}).get("edition", 0))
            assert has >= said, f"Ready at edition {said}, Azure had {has}"
        if ready["reason"] == "Deleting":
            assert is_deleting(written), "Deleting what is not"

    def _check_rest(self):
        for role in self._wanted:
            present, resource = self.present(role), self.in_azure(role)
            assert resource is not None, f"{role} is Ready, and not in Azure"
            edition = self.obj(role)["spec"]["tags"]["edition"]
            assert resource["tags"]["edition"] == edition, f"{role} was not put"
            assert POLLER_TOKEN not in annotations(present), "a token left over"
            assert FINALIZER in finalizers(present), "no finalizer"
        for role in {"group", "server"} - self._wanted:
            assert self.present(role) is None, f"{role} does not go"
        if "server" in self._wanted:
            (last,) = self._last_put("server")
            sent = last.body["properties"]["administratorLoginPassword"]
            assert sent == self.password, "the new password was not put"

    def _check_end(self):
        left = [r for r in ("group", "server") if self.in_azure(r) is not None]
        self.world.azure.remove(self.arm_id("group"))
        for role, puts in self._puts.items():
            # A fault costs one PUT; so does forgetting what a running one was made of.
            most = (self._reasons[role] + 2) * (self.cell.managers if self.cell else 1)
            assert puts <= most, (
                f"{puts} PUTs of {role} for {self._reasons[role]} reasons"
            )
        assert set(left) <= self._exempt | self._below_exempt(), f"orphans: {left}"

    def _below_exempt(self):
        return {"server"} if "group" in self._exempt else set()

    def _last_put(self, role):
        id_ = self.arm_id(role).lower()
        puts = [
            r
            for r in self.world.azure.journal[self._since :]
            if r.method == "PUT" and r.resource == id_ and r.status < 300
        ]
        return puts[-1:]

    # Where things are.

    def obj(self, role):
        return self.group if role == "group" else self.server

    def role_of(self, name):
        return self.names[name]

    def present(self, role):
        return self.world.read(self.obj(role))

    def shown(self, role):
        """What matters of an object, for a failure's text."""
        present = self.present(role)
        if present is None:
            return role, None
        held = {name: text[:60] for name, text in annotations(present).items()}
        meta = {"generation": generation(present), "finalizers": finalizers(present)}
        return role, meta, held, self.world.ready(self.obj(role))

    def arm_id(self, role):
        group = self.group["metadata"]["name"]
        id_ = (
            f"/subscriptions/{self.world.azure.subscription_id}/resourceGroups/{group}"
        )
        if role == "group":
            return id_
        name = self.server["metadata"]["name"]
        return f"{id_}/providers/Microsoft.DBforPostgreSQL/flexibleServers/{name}"

    def role(self, arm_id):
        return "server" if "/flexibleServers/" in arm_id else "group"

    def in_azure(self, role):
        id_ = self.arm_id(role).lower()
        found = self.world.azure.resources()
        return next((b for i, b in found.items() if i.lower() == id_), None)

    def _note_edition(self, present):
        tags = present["spec"]["tags"]
        self._editions[uid_of(present), generation(present)] = int(tags["edition"])

    def _edition_of(self, present, at):
        uid = uid_of(present)
        return max(
            edition
            for (of, number), edition in self._editions.items()
            if of == uid and number <= at
        )


def key_of(obj):
    return ObjectKey("default", obj["metadata"]["name"])
