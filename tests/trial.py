"""One lifecycle with one fault in it (a cell of `matrix`), under `invariants`.

The group and the server are created, edited and deleted. At one write a process
crashes, loses the answer, or is overtaken by a change. A process is a reconciler with
an empty memory; the next one continues from the state that this one left.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import attrs
from estate import ROLES, UNSEEN, Estate, key_of, role_of_id
from globalconnection import GlobalConnection
from invariants import Invariants
from matrix import Cell
from taps import ArmTap, CrashError, KubeTap
from world import SYNC_SECONDS

from asoreconcile.azure.reconcile.engine.reconciler import ArmReconciler
from asoreconcile.azure.reconcile.scope.owner_reads import OwnerReads
from asoreconcile.base.objects import JsonObject, ObjectKey, gvk_of
from asoreconcile.kube.errors import ApiError, TransportError
from asoreconcile.runtime.reconciler import Request

if TYPE_CHECKING:
    from asoreconcile.cache.informer import Informer

_PASSES = 120
_LIMITER_SECONDS = 1.0
_SOON_SECONDS = 60.0


class Process:
    """An operator process: a reconciler with an empty memory."""

    def __init__(
        self,
        estate: Estate,
        write: Callable[..., Any],
        *,
        on_put: Callable[[JsonObject], None],
    ) -> None:
        """Make a process.

        write: (process, name, effect, lost) -> the effect's answer.
        """
        world = estate.world

        def tapped(name: str, effect: Callable[[], Any], lost: Exception) -> Any:
            return write(self, name, effect, lost)

        arm: Any = ArmTap(world.arm, role_of_id, tapped, on_put)
        self.arm = arm
        self.acting_on: Any = None
        self._estate = estate
        self._kinds = {
            gvk_of(obj).group_kind: world.fresh_kind(obj)
            for obj in estate.objs.values()
        }
        self._operator = attrs.evolve(
            world.operator,
            client=KubeTap(world.client, estate.names, tapped),
            connections=GlobalConnection(
                arm, subscription_id=world.azure.subscription_id, source="test"
            ),
            owner_reads=OwnerReads(world.clock),
        )

    def run(self, role: str) -> float | None:
        """Reconcile once; return the seconds until the next time, or None."""
        obj = self._estate.objs[role]
        self.arm.seen.clear()
        kind = self._kinds[gvk_of(obj).group_kind]
        try:
            reconciler = ArmReconciler(self._operator, kind, cast("Informer", self))
            result = reconciler.reconcile(Request(key_of(obj)))
        except (ApiError, TransportError):
            return _LIMITER_SECONDS
        return result.requeue_after_seconds

    def get(self, key: ObjectKey) -> JsonObject | None:
        """Return an object for the reconcile, which then acts on this copy."""
        found = self._estate.present(self._estate.names[key.name])
        self.acting_on = found
        return found


class Trial:
    """One lifecycle. Raises AssertionError if an invariant is violated.

    cell: if None, there is no fault.
    struck: whether the fault has happened.
    """

    def __init__(self, world: Any, cell: Cell | None, name: str) -> None:
        self.writes: list[str] = []
        self.struck = False
        self._world = world
        self._cell = cell
        self._estate = Estate(world, name)
        self._invariants = Invariants(self._estate)
        self._processes = [self._process()]

    def live(self) -> None:
        """Run the lifecycle. Raises AssertionError."""
        self._estate.apply("group")
        self._estate.rotate()
        self._estate.apply("server")
        self._rest()
        if "server" in self._estate.wanted:
            self._estate.edit("server")
            self._rest()
        for role in ("server", "group"):
            self._estate.delete(role)
            self._rest()
        managers = self._cell.managers if self._cell else 1
        self._invariants.at_the_end(managers=managers)

    def _process(self) -> Process:
        return Process(self._estate, self._write, on_put=self._invariants.note_put)

    def _rest(self) -> None:
        """Reconcile when it is due until nothing is left to do; then check.

        After the fault every object gets one more reconcile, as at its sync. But the
        effects of events must already be complete before it.
        """
        estate, struck_before = self._estate, self.struck
        self._run_until_calm()
        while missing := [r for r in ROLES if self._is_missing(r)]:
            for role in missing:
                # the object was deleted with its owner: the user applies it again
                estate.apply(role)
            self._run_until_calm()
        if self.struck and not struck_before:
            if self._change not in UNSEEN:
                self._invariants.at_rest()
            for role in ROLES:
                estate.wake(role)
            self._run_until_calm()
        self._invariants.at_rest()

    def _is_missing(self, role: str) -> bool:
        return role in self._estate.wanted and self._estate.present(role) is None

    def _run_until_calm(self) -> None:
        estate, due = self._estate, {}
        for _ in range(_PASSES):
            if self.struck and self._change.endswith("recreated"):
                estate.collect_garbage()
            due.update(estate.woken)
            estate.woken.clear()
            if not due:
                return
            role = min(due, key=lambda r: due[r])
            self._world.clock.advance(due[role])
            due = {r: left - due[role] for r, left in due.items()}
            del due[role]
            left = self._pass(role)
            if left is not None:
                due[role] = left
        message = f"never comes to rest: {[estate.shown(role) for role in ROLES]}"
        raise AssertionError(message)

    def _pass(self, role: str) -> float | None:
        """Let the next process reconcile; return the seconds until the next time.

        The result is None if the object needs nothing more.
        """
        process = self._processes.pop(0)
        self._processes.append(process)
        try:
            left = process.run(role)
        except CrashError:
            self._processes[self._processes.index(process)] = self._process()
            left = 0.0
        if not self._estate.is_calm(role):
            return SYNC_SECONDS if left is None else left
        return None if left is None or left > _SOON_SECONDS else left

    def _write(
        self, process: Process, name: str, effect: Callable[[], Any], lost: Exception
    ) -> Any:
        """Let a process make a write, or make it fail."""

        def observed() -> Any:
            return self._invariants.around(
                name, effect, acting_on=process.acting_on, seen=process.arm.seen
            )

        self.writes.append(name)
        cell = self._cell
        if cell is None or self.struck or len(self.writes) - 1 != cell.write:
            return observed()
        self.struck = True
        role = name.rpartition(" ")[2]
        role = role if role in ROLES else "server"
        if cell.fault in ("race", "unsent"):
            self._strike(role)
            if cell.fault == "unsent":
                raise CrashError
            return observed()
        answer = observed()
        self._strike(role)
        if cell.fault == "unrecorded":
            raise CrashError
        if cell.fault == "lost":
            raise lost
        return answer

    @property
    def _change(self) -> str:
        """The change that comes with the fault, or an empty text without one."""
        return self._cell.change if self._cell else ""

    def _strike(self, role: str) -> None:
        self._estate.change(self._change, role)
        if self._cell and self._cell.managers == 2:
            second = self._process()
            self._processes.append(second)
            second.run(role)
            # the other process also has the object in its queue
            self._estate.wake(role)
