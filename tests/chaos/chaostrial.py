"""One chaos trial: two managers, an API server and an Azure, disturbed from a seed.

The managers are processes, with TCP proxies between them and both servers. A user
applies, edits and deletes objects while leaders are killed and paused, connections are
cut, the API server disappears, and Azure refuses requests, loses answers and lets
operations fail. Then the disturbances end, the user edits every object once more, and
the journals must show that nothing was lost, repeated, orphaned or deleted by mistake.

Every random choice comes from the seed. Threads and processes still interleave freely:
the same seed means the same disturbances, not the same trace.
"""

import itertools
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import yaml
from chaosestate import Member, estate
from operation import NAMESPACE, Operation
from tcpproxy import TcpProxy

from asoreconcile.azure.cmd.subprocesses import ChildError
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.base.objects import ObjectKey, status
from asoreconcile.kube.errors import ApiError, NotFoundError, TransportError
from asoreconcile.kube.resources import LEASES, NAMESPACES
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.arm.address import parse
from asoreconcile.testing.arm.children import born_with
from asoreconcile.testing.http import HttpRequest, HttpResponse

STEPS = 24
CALM_SECONDS = 150.0
_PAUSE_SECONDS = (0.05, 0.7)
_LEASE = ObjectKey(NAMESPACE, "controllers-leader-election-azinfra-generated")
_ELECTION = ("--enable-leader-election", "--leader-election-seconds", "2", "1.5", "0.2")
_WRITES = ("PUT", "PATCH", "DELETE", "POST")
_MONITORS = {"azure-asyncoperation", "location"}
_ARM_FAULTS = (
    "{verb} Microsoft.Network/virtualNetworks 429:TooManyRequests:1 x2",
    "{verb} Microsoft.Network/networkSecurityGroups 500 x2",
    "{verb} Microsoft.Network/virtualNetworks/subnets lost x2",
    "{verb} Microsoft.Network/networkSecurityGroups/securityRules reset x2",
    "{verb} Microsoft.Storage/storageAccounts late x1",
    "{verb} Microsoft.Network/virtualNetworks timeout x1",
    "PUT Microsoft.Storage/storageAccounts fail:InternalServerError",
    "PUT Microsoft.Network/virtualNetworks/subnets cancel",
    "GET Microsoft.Network/virtualNetworks garbled:500 x2",
    "GET Microsoft.Network/networkSecurityGroups lost x3",
)


class WatchedAzure(ArmServer):
    """A simulator that records writes during an operation on the same resource."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.overlaps: list[Overlap] = []
        self._running: dict[str, float] = {}

    def answer(self, request: HttpRequest) -> HttpResponse:
        key = request.path.rstrip("/").lower()
        if request.method in ("PUT", "DELETE"):
            # an operation whose time is over has ended, even if no request has looked
            with self._lock:
                self._simulation.operations.settle()
                running = self._simulation.operations.running(key)
            begun = self._running.get(key)
            if running and not running.is_over and begun and request.method == "PUT":
                self.overlaps.append(Overlap(key, begun, time.monotonic()))
        response = super().answer(request)
        if request.method in ("PUT", "DELETE") and response.status in (200, 201, 202):
            if _is_running(response):
                self._running[key] = time.monotonic()
            else:
                # a client would not wait for this operation
                self._running.pop(key, None)
        return response


def _is_running(response: HttpResponse) -> bool:
    """Return whether an accepted write begins an operation to watch.

    That is a write with a monitor, unless its state is already terminal, which takes
    precedence (D6).
    """
    if not _MONITORS & {name.lower() for name in response.headers}:
        return False
    assert isinstance(response.body, bytes)
    return b'"provisioningState":"Succeeded"' not in response.body.replace(b" ", b"")


@attrs.frozen
class Overlap:
    """A PUT at `at` during an operation that began at `began` (monotonic seconds)."""

    key: str
    began: float
    at: float


class Manager:
    """One manager process, which the trial can pause and kill."""

    def __init__(
        self, operation: Operation, name: str, proxies: Mapping[str, TcpProxy]
    ) -> None:
        self.name = name
        kubeconfig = operation.folder / f"kubeconfig-{name}"
        document = operation.cluster.kubeconfig()
        server = f"https://127.0.0.1:{proxies['kube'].port}"
        document["clusters"][0]["cluster"]["server"] = server
        kubeconfig.touch(mode=0o600)
        kubeconfig.write_text(yaml.safe_dump(document))
        self.child = operation.start_manager(
            *_ELECTION, KUBECONFIG=str(kubeconfig), AZURE_USER_AGENT_SUFFIX=name
        )
        self.paused = False

    def pause(self) -> None:
        self.paused = True
        os.kill(self.child.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        if self.paused:
            self.paused = False
            os.kill(self.child.pid, signal.SIGCONT)

    def has_ended(self) -> bool:
        try:
            self.child.check()
        except ChildError:
            return True
        return False

    def end(self) -> None:
        self.go_on()
        self.child.end()


class ChaosTrial:
    """One trial. `run` raises AssertionError for a violated invariant."""

    def __init__(self, seed: int | str, folder: Path) -> None:
        self.seed = seed
        self.told: list[str] = []
        """What was done, for a failure's note."""
        self._folder = folder
        self._dice = random.Random(f"chaos/{seed}")
        self._wait = threading.Event().wait
        self._members = estate()
        self._deleted: set[str] = set()
        self._known: set[str] = set()
        self._troubles: list[float] = []
        self._starts = 0
        self._managers: list[Manager] = []

    def run(self) -> None:
        dice = self._dice
        with (
            TcpProxy(random.Random(f"kube/{self.seed}")) as kube,
            TcpProxy(random.Random(f"arm/{self.seed}")) as arm,
        ):
            azure = WatchedAzure(
                lro=dice.uniform(0.1, 1.5),
                retry_after=1,
                public_url=f"https://127.0.0.1:{arm.port}",
            )
            azure.faults.latency_seconds = dice.choice((0.0, 0.02, 0.1))
            self._proxies = {"kube": kube, "arm": arm}
            with Operation(self._folder, azure=azure) as operation:
                self._operation = operation
                kube.lead_to(operation.cluster.port)
                arm.lead_to(azure.port)
                operation.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
                operation.install(*(m.obj for m in self._members))
                try:
                    self._live()
                finally:
                    self._write_journal()
                    for proxy in self._proxies.values():
                        proxy.set("clear")
                    for manager in self._managers:
                        manager.end()
                    operation.manager = None

    def _write_journal(self) -> None:
        """Write Azure's requests to the folder with the managers' logs, for
        debugging.
        """
        lines = [
            f"{e.at:.3f} {e.method} {e.status} {e.path} {e.headers['user-agent']}"
            f" {e.headers.get('if-match', '')}"
            for e in self._operation.azure.journal
        ]
        (self._folder / "journal.txt").write_text("\n".join(lines))

    def _live(self) -> None:
        self._start_manager()
        self._start_manager()
        self._tell("apply all")
        for member in self._members:
            self._try(self._operation.apply, member.obj)
            self._known.add(self._id(member))
        for _ in range(STEPS):
            self._step()
            self._wait(self._dice.uniform(*_PAUSE_SECONDS))
        self._calm_down()
        self._wait_until_settled()
        self._check_azure()
        self._tear_down()
        self._check_journal()

    # The user's actions, and the disturbances.

    def _step(self) -> None:
        actions = (
            (self._edit, 6),
            (self._delete_or_restore, 4),
            (self._break_connection, 3),
            (self._break_azure, 4),
            (self._break_api_server, 2),
            (self._kill, 1),
            (self._pause, 1),
        )
        functions, weights = zip(*actions, strict=True)
        (action,) = self._dice.choices(functions, weights)
        action()

    def _edit(self) -> None:
        member = self._dice.choice([m for m in self._members if m.wanted])
        member.edition += 1
        self._tell(f"edit {member.name}")
        self._try(self._operation.apply, member.obj)

    def _delete_or_restore(self) -> None:
        member = self._dice.choice([m for m in self._members if m.deletable])
        member.wanted = not member.wanted
        if member.wanted:
            self._tell(f"restore {member.name}")
            self._try(self._operation.apply, member.obj)
        else:
            self._tell(f"delete {member.name}")
            self._deleted.add(self._id(member))
            self._try(self._operation.delete, member.obj)

    def _break_connection(self) -> None:
        name = self._dice.choice(tuple(self._proxies))
        mode = self._dice.choice(("slow", "cut", "blackhole", "refuse", "clear"))
        self._trouble(f"{name} {mode}")
        self._proxies[name].set(mode)
        if mode in ("blackhole", "refuse"):
            self._wait(self._dice.uniform(0.2, 2.5))
            self._proxies[name].set("clear")
            self._trouble(f"{name} clear")

    def _break_azure(self) -> None:
        verb = self._dice.choice(("PUT", "DELETE"))
        line = self._dice.choice(_ARM_FAULTS).format(verb=verb)
        self._trouble(f"azure {line}")
        self._operation.azure.script(line)

    def _break_api_server(self) -> None:
        cluster = self._operation.cluster
        what = self._dice.choice(("cut", "forget", "restart"))
        self._trouble(f"api server {what}")
        if what == "cut":
            cluster.cut_watches()
        elif what == "forget":
            cluster.forget_changes()
        else:
            cluster.restart(self._dice.uniform(0.1, 1.0))

    def _kill(self) -> None:
        manager = self._dice.choice(self._managers)
        self._trouble(f"kill {manager.name}")
        manager.go_on()
        manager.child.kill()
        manager.child.end()
        self._managers.remove(manager)
        self._start_manager()

    def _pause(self) -> None:
        manager = self._dice.choice(self._managers)
        self._trouble(f"pause {manager.name}")
        manager.pause()
        self._wait(self._dice.uniform(0.5, 4.0))
        self._trouble(f"go on {manager.name}")
        manager.go_on()
        self._replace_ended()

    def _start_manager(self) -> None:
        self._starts += 1
        manager = Manager(self._operation, f"m{self._starts}", self._proxies)
        self._managers.append(manager)

    def _replace_ended(self) -> None:
        """Replace managers that ended, as a Deployment does: a former leader exits."""
        for manager in [m for m in self._managers if m.has_ended()]:
            manager.child.end()
            self._managers.remove(manager)
            self._trouble(f"{manager.name} has ended")
            self._start_manager()

    def _try(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """Repeat a user's action until the API server answers."""
        while True:
            try:
                return action(*arguments)
            except NotFoundError:
                return None
            except (ApiError, TransportError) as error:
                self._tell(f"tries again: {error}")
                self._wait(0.1)

    def _tell(self, what: str) -> None:
        self.told.append(f"{time.monotonic():.2f} {what}")

    def _trouble(self, what: str) -> None:
        self._tell(what)
        self._troubles.append(time.monotonic())

    # From here on there are no disturbances.

    def _calm_down(self) -> None:
        for proxy in self._proxies.values():
            proxy.set("clear")
        faults = self._operation.azure.faults
        faults.clear()
        faults.latency_seconds = 0.0
        for manager in self._managers:
            manager.go_on()
        self._tell("calm")
        for member in self._members:
            member.wanted = True
            member.edition += 1
            self._try(self._operation.apply, member.obj)

    def _wait_until_settled(self) -> None:
        """Wait until every object is Ready at its last edition.

        A running deletion ends, and the user applies the object again.
        """
        deadline = time.monotonic() + CALM_SECONDS
        while True:
            self._replace_ended()
            open_ = [m for m in self._members if not self._is_settled(m)]
            if not open_:
                return
            if time.monotonic() > deadline:
                shown = [f"{m.name}: {self._shown(m)}" for m in open_]
                raise AssertionError("never settles: " + "; ".join(shown))
            self._wait(0.2)

    def _is_settled(self, member: Member) -> bool:
        obj = self._read(member)
        if obj is None:
            self._try(self._operation.apply, member.obj)
            return False
        ready = find_ready(status(obj).get("conditions")) or {}
        return (
            "deletionTimestamp" not in obj["metadata"]
            and ready.get("status") == "True"
            and ready.get("observedGeneration") == obj["metadata"]["generation"]
        )

    def _read(self, member: Member) -> dict[str, Any] | None:
        try:
            return self._operation.read(member.obj)
        except NotFoundError:
            return None
        except (ApiError, TransportError):
            return {"metadata": {"generation": -1}}

    def _shown(self, member: Member) -> Any:
        obj = self._read(member)
        return obj and (obj["metadata"], status(obj).get("conditions"))

    # The invariants.

    def _id(self, member: Member) -> str:
        return member.arm_id(self._operation.azure.subscription_id)

    def _check_azure(self) -> None:
        found = {k.lower(): v for k, v in self._operation.azure.resources().items()}
        for member in self._members:
            body = found.pop(self._id(member), None)
            assert body is not None, f"{member.name} is Ready, and not in Azure"
            has = member.shows(body)
            assert has == member.edition, (
                f"{member.name}: edition {has} is in Azure, {member.edition} in the spec"
            )
        parents = [one for m in self._members if (one := parse(self._id(m)))]
        azures_own = {
            child.id.lower() for parent in parents for child, _ in born_with(parent)
        }
        strangers = set(found) - self._known - azures_own
        assert not strangers, f"nobody asked for {strangers}"

    def _tear_down(self) -> None:
        for member in reversed(self._members):
            self._deleted.add(self._id(member))
            self._try(self._operation.delete, member.obj)
        deadline = time.monotonic() + CALM_SECONDS
        while left := [m.name for m in self._members if self._read(m) is not None]:
            assert time.monotonic() < deadline, f"never go: {left}"
            self._wait(0.2)
        orphans = set(self._operation.azure.resources())
        assert not orphans, f"orphans: {orphans}"

    def _check_journal(self) -> None:
        journal = [e for e in self._operation.azure.journal if e.method in _WRITES]
        for entry in journal:
            if entry.method == "PUT":
                assert entry.resource in self._known, f"a PUT of {entry.resource}"
            if entry.method == "DELETE":
                assert entry.resource in self._deleted, (
                    f"nobody deleted {entry.resource}"
                )
        for overlap in self._operation.azure.overlaps:
            causes = [t for t in self._troubles if overlap.began - 10 < t < overlap.at]
            assert causes, (
                f"overlapping PUTs of {overlap.key} without a cause: "
                f"{overlap.began:.2f} {overlap.at:.2f}"
            )
        self._check_leaders(journal)
        logs = self._operation.logs()
        assert self._operation.azure.client_secret not in logs, "a secret is logged"
        assert "Traceback" not in logs, _first_traceback(logs)

    def _check_leaders(self, journal: Sequence[Any]) -> None:
        """Check that the writer changes no more often than the lease."""
        names = [e.headers["user-agent"].split()[-1] for e in journal]
        turns = sum(a != b for a, b in itertools.pairwise(names))
        lease = self._operation.client.get(LEASES, _LEASE)["spec"]
        transitions = lease.get("leaseTransitions", 0)
        assert turns <= transitions, (
            f"{turns} turns of writers, {transitions} of the lease"
        )


def _first_traceback(logs: str) -> str:
    at = logs.find("Traceback")
    return logs[max(0, at - 1500) : at + 3000]
