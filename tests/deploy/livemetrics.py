"""The metrics of two managers while one works: the texts of /metrics, several times.

The manager that leads answers webhooks in several versions, and meets an Azure that
refuses, throttles and hangs up, so that metrics of errors are also there. The other
manager waits for the lease.
"""

import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from operation import NAMESPACE, WAIT_SECONDS, Operation, free_port
from webhookpeers import wait_served
from world import resource_group, virtual_network

from asoreconcile.azure.cmd.subprocesses import ChildProcess
from asoreconcile.base.objects import ObjectKey, dig, key_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES


def scrapes(folder: Path) -> tuple[tuple[str, str], ...]:
    """Return two texts of /metrics of the manager that leads, and of the one that
    waits, with some work before each.
    """
    with Operation(folder) as operation:
        group = resource_group()
        operation.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        with _started(operation) as (leader, hooks, leading):
            _wait_told(operation.client, 2)
            wait_served(hooks, leading)
            operation.apply(group)
            operation.wait_ready(group)
            with _started(operation) as (standby, standby_hooks, waiting):
                wait_served(standby_hooks, waiting)
                _work(operation, "vnet")
                # This object waits for an owner that does not exist.
                orphan = virtual_network("orphan", owner="nobody")
                operation.apply(orphan)
                operation.wait_condition(orphan, "WaitingForOwner")
                first = [_read(port) for port in (leader, standby)]
                _work(operation, "other")
                second = [_read(port) for port in (leader, standby)]
        operation.manager = None
        return tuple(zip(first, second, strict=True))


@contextmanager
def _started(operation: Operation) -> Iterator[tuple[int, int, ChildProcess]]:
    """Run a manager; yield its ports of metrics and of webhooks, and its process."""
    process = operation.start_manager(
        f"--metrics-addr=127.0.0.1:{(metrics := free_port())}",
        "--secure-metrics=false",
        f"--webhook-port={(hooks := free_port())}",
        f"--webhook-url=https://127.0.0.1:{hooks}",
        "--enable-leader-election",
        "--all-versions",
        "--crd-pattern=resources.azure.com/*;network.azure.com/VirtualNetwork",
    )
    try:
        yield metrics, hooks, process
    finally:
        process.end()


def _work(operation: Operation, name: str) -> None:
    """Make a network, which Azure accepts at the fourth attempt."""
    vnet, faults = virtual_network(name), operation.azure.faults
    path = f"virtualNetworks/{name}"
    faults.answer("PUT", path, 409, code="Conflict", message="Busy.")
    faults.answer("PUT", path, 429, code="TooManyRequests", message="Wait.")
    faults.drop("PUT", path)
    operation.apply(vnet)
    operation.wait_ready(vnet)


def _wait_told(client: KubeClient, count: int) -> None:
    """Block until that many CRDs have a CA bundle."""
    told: set[ObjectKey] = set()
    stream = client.watch(CUSTOM_RESOURCE_DEFINITIONS, timeout_seconds=WAIT_SECONDS)
    with closing(stream):
        for type_, obj in stream:
            path = "spec.conversion.webhook.clientConfig.caBundle"
            if type_ != "BOOKMARK" and dig(obj, path):
                told.add(key_of(obj))
            if len(told) == count:
                return
    raise AssertionError("the CRDs were not told whom to trust")


def _read(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text: bytes = answer.read()
        return text.decode()
