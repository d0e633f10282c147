"""Rollouts and kills of replicas, while clients write.

Replicas of the manager are behind a balancer of connections, as behind a Service.
`Rollout` does what the Deployment controller and the kubelet do. `writing` writes
objects in several versions all the time, and notes what was refused. Nothing here waits
for a time: each step waits until the endpoints show what it did.
"""

import itertools
import os
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import attrs
from operation import Operation, free_port

from asoreconcile.base.objects import ObjectKey, labels
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import ApiError, TransportError
from asoreconcile.kube.resources import ApiResource

NEWER = str(Path(__file__).resolve().parent / "newer")
VERSIONS = ("v1api20240301", "v20250301")
_PROBE_SECONDS = 0.5
_READY_SECONDS = 300.0


class Endpoints:
    """The ports of the replicas that are ready, as the EndpointSlices of a Service."""

    def __init__(self) -> None:
        self.ports: tuple[int, ...] = ()
        self._changed = threading.Condition()

    def set(self, port: int, *, ready: bool) -> None:
        """Note what a probe has found."""
        with self._changed:
            others = tuple(one for one in self.ports if one != port)
            self.ports = (*others, port) if ready else others
            self._changed.notify_all()

    def wait(self, port: int, *, ready: bool) -> None:
        """Wait until a port is an endpoint, or has left the endpoints."""
        with self._changed:
            done = self._changed.wait_for(
                lambda: (port in self.ports) == ready, _READY_SECONDS
            )
        assert done, f"port {port}: {'not' if ready else 'still'} an endpoint"


class Balancer:
    """Passes each connection on to one of the endpoints in turn."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://localhost:{self._socket.getsockname()[1]}"
        self._start(self._accept)

    def close(self) -> None:
        """Close all connections, and wait until their threads have ended."""
        for one in (self._socket, *self._open):
            _shut(one)
        for thread in self._threads:
            thread.join()

    def _start(self, target: Callable[..., object], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with self._socket:
            for number in itertools.count():
                try:
                    client, _ = self._socket.accept()
                except OSError:
                    return
                ports = self._endpoints.ports
                port = ports[number % len(ports)] if ports else 0
                self._start(self._pass_on, client, port)

    def _pass_on(self, client: socket.socket, port: int) -> None:
        with (
            client,
            suppress(OSError),
            socket.create_connection(("127.0.0.1", port)) as server,
        ):
            self._open |= {client, server}
            back = threading.Thread(target=_copy, args=(server, client))
            back.start()
            _copy(client, server)
            back.join()
            self._open -= {client, server}


def _shut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    _shut(source)
    _shut(target)


class Replica:
    """One manager process with its ports, and the probe that makes it an endpoint."""

    def __init__(
        self,
        operation: Operation,
        flags: Sequence[str],
        balancer: Balancer,
        endpoints: Endpoints,
        *,
        newer: bool,
    ) -> None:
        self._port, self._health = free_port(), free_port()
        self._endpoints, self._over = endpoints, threading.Event()
        self._process = operation.start_manager(
            *flags,
            f"--webhook-port={self._port}",
            f"--webhook-url={balancer.url}",
            f"--health-addr=127.0.0.1:{self._health}",
            *("--enable-leader-election", "--all-versions"),
            *("--drain-seconds=5", "--grace-seconds=25"),
            **({"PYTHONPATH": NEWER} if newer else {}),
        )
        self._probe = threading.Thread(target=self._probing)
        self._probe.start()

    def join(self) -> None:
        """Wait until it gets connections."""
        self._endpoints.wait(self._port, ready=True)

    def stop(self) -> None:
        """SIGTERM; it gets new connections until the endpoints have changed."""
        stopped = threading.Thread(target=self._process.end)
        stopped.start()
        self._endpoints.wait(self._port, ready=False)
        stopped.join()
        self._end()

    def kill(self) -> None:
        """SIGKILL, before anything has noticed."""
        self._process.kill()

    def leave(self) -> None:
        """Wait until a killed process gets no connections."""
        self._endpoints.wait(self._port, ready=False)
        self._process.end()
        self._end()

    def hang(self, seconds: float) -> None:
        """Suspend the process, which leaves the endpoints; then it goes on, and ends."""
        os.kill(self._process.pid, signal.SIGSTOP)
        try:
            self._endpoints.wait(self._port, ready=False)
            threading.Event().wait(seconds)
        finally:
            os.kill(self._process.pid, signal.SIGCONT)
        self._process.end()
        self._end()

    def _end(self) -> None:
        self._over.set()
        self._probe.join()
        self._endpoints.set(self._port, ready=False)

    def _probing(self) -> None:
        while not self._over.wait(_PROBE_SECONDS):
            self._endpoints.set(self._port, ready=self._is_ready())

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self._health}/readyz", timeout=3
            ):
                return True
        except (urllib.error.URLError, OSError):
            return False


class Rollout:
    """A Deployment with `maxUnavailable: 0`."""

    def __init__(self, operation: Operation, flags: Sequence[str]) -> None:
        self._operation, self._flags = operation, flags
        self._endpoints = Endpoints()
        self._balancer = Balancer(self._endpoints)
        self.replicas: list[Replica] = []

    def start(self, count: int = 1, *, newer: bool = False) -> None:
        made = [
            Replica(
                *(self._operation, self._flags, self._balancer, self._endpoints),
                newer=newer,
            )
            for _ in range(count)
        ]
        self.replicas += made
        for one in made:
            one.join()

    def to(self, *, newer: bool) -> None:
        """Replace all replicas, one by one."""
        for old in list(self.replicas):
            self.start(newer=newer)
            old.stop()
            self.replicas.remove(old)

    def hang(self, seconds: float) -> None:
        """Suspend the oldest replica, and replace it."""
        self.replicas.pop(0).hang(seconds)
        self.start()

    def kill(self, count: int) -> None:
        """Kill some replicas, and start as many."""
        killed, self.replicas = self.replicas[:count], self.replicas[count:]
        for one in killed:
            one.kill()
        for one in killed:
            one.leave()
        self.start(count)

    def close(self) -> None:
        self._balancer.close()
        for one in self.replicas:
            one.kill()
            one.leave()
        self._operation.manager = None


@attrs.define
class Writers:
    """Notes of writes.

    refused: times since the beginning, with errors. seconds: durations of all writes.
    last: values of the last accepted writes by object; an object whose last write was
    refused has none, as the write may have been stored.
    """

    refused: list[tuple[float, str]] = attrs.field(factory=list)
    seconds: list[float] = attrs.field(factory=list)
    last: dict[str, str] = attrs.field(factory=dict)
    _written: threading.Semaphore = attrs.field(
        factory=lambda: threading.Semaphore(0), init=False
    )

    def note(self, seconds: float) -> None:
        """Note that a write has ended."""
        self.seconds.append(seconds)
        self._written.release()

    def wait(self, count: int) -> None:
        """Wait for further writes."""
        for _ in range(count):
            assert self._written.acquire(timeout=_READY_SECONDS)

    def p99(self) -> float:
        return sorted(self.seconds)[int(len(self.seconds) * 0.99)]


def _resource(version: str) -> ApiResource:
    return ApiResource(
        "network.azure.com", version, "virtualnetworks", "VirtualNetwork"
    )


@contextmanager
def writing(
    operation: Operation, names: Sequence[str], *, pause_seconds: float = 0.2
) -> Iterator[Writers]:
    """Write the named networks in several versions until the block ends."""
    notes, stop = Writers(), threading.Event()
    config = load(str(operation.folder / "kubeconfig"))
    start = time.monotonic()

    def write(name: str, version: str) -> None:
        client = KubeClient(config, user_agent="writer", max_retries=0)
        for number in itertools.count():
            if stop.wait(pause_seconds):
                break
            value, began = f"{version}-{number}", time.monotonic()
            change = {"metadata": {"labels": {"written": value}}}
            try:
                client.patch(_resource(version), ObjectKey("default", name), change)
                notes.last[name] = value
            except (ApiError, TransportError) as error:
                notes.refused.append((began - start, str(error)))
                notes.last.pop(name, None)
            notes.note(time.monotonic() - began)
        client.close()

    threads = [
        threading.Thread(target=write, args=(name, VERSIONS[n % len(VERSIONS)]))
        for n, name in enumerate(names)
    ]
    for one in threads:
        one.start()
    try:
        yield notes
    finally:
        stop.set()
        for one in threads:
            one.join()


def lost(operation: Operation, notes: Writers) -> list[str]:
    """Return the objects whose last accepted write is not there."""
    at = _resource(VERSIONS[-1])
    return [
        name
        for name, value in notes.last.items()
        if labels(operation.client.get(at, ObjectKey("default", name)))["written"]
        != value
    ]


def repeated_puts(operation: Operation) -> list[str]:
    """Return the ids of resources that got the same body again, once for each time."""
    last: dict[str, object] = {}
    repeated = []
    for entry in operation.azure.journal:
        if entry.method == "PUT":
            path = entry.path.partition("?")[0]
            if last.get(path) == entry.body:
                repeated.append(path)
            last[path] = entry.body
    return repeated
