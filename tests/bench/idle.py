"""A manager with every kind and nothing to do: CPU and memory of the start, and after.

    hack/bench idle [--kinds N] [--seconds N] [--objects N] [--namespaces N]
                    [--server real] [--starts N] [--crd-pattern GLOBS]

Read from /proc: the manager's alone. Until ready: all informers hold their first list.
Idle: a steady estate of N groups, settled, none due for its sync, over so many
namespaces. --server real: kube-apiserver from KUBEBUILDER_ASSETS, which speaks HTTP/2 as
clusters do; ours speaks HTTP/1.1. The CRDs are there before the manager starts.
"""

import os
import re
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import click
from main_job import (
    GROUPS,
    Following,
    cpu_seconds,
    free_port,
    install,
    memory_mib,
    report,
    wait_until_ready,
)
from time_to_ready import group

from asoreconcile.azure.cmd.local_cluster import AzureOptions, LocalCluster
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.discovery import discover
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.resources import NAMESPACES
from asoreconcile.testing import envtest

SERVED_SECONDS = 300.0


@click.command()
@click.option("--kinds", default=290, show_default=True, help="Kinds installed.")
@click.option("--seconds", default=60, show_default=True, help="To stay idle.")
@click.option("--objects", default=100, show_default=True, help="Groups, settled.")
@click.option("--namespaces", default=1, show_default=True, help="Of the groups.")
@click.option(
    "--server",
    type=click.Choice(["embedded", "real"]),
    default="embedded",
    show_default=True,
    help="The API server; a real one needs KUBEBUILDER_ASSETS.",
)
@click.option("--starts", default=1, show_default=True, help="Of managers, in turn.")
@click.option(
    "--crd-pattern", default="", help="Of the managers: they look at these CRDs."
)
def main(kinds, seconds, objects, namespaces, server, starts, crd_pattern):
    """Start and idle, measured."""
    catalogue = builtin()
    first = catalogue.kind(GROUPS)
    others = [k for k in catalogue.kinds() if k.is_arm and k is not first]
    wanted = [first, *others[: kinds - 1]]
    azure = AzureOptions(latency=0.0, lro=0.0, retry_after=1)
    with LocalCluster(azure) as world, api_server(server, world) as kubeconfig:
        client = KubeClient(load(str(kubeconfig)), user_agent="bench")
        labels = {"kinds": len(wanted), "server": server}
        began = time.perf_counter()
        install(client, wanted)
        wait_until_served(client, wanted)
        seconds_installed = round(time.perf_counter() - began, 1)
        report("CRDs installed and served", seconds_installed, "s", **labels)
        for _ in range(starts - 1):
            manager = started(world, kubeconfig, crd_pattern, labels)
            manager.end()
        manager = started(world, kubeconfig, crd_pattern, labels)
        settle(client, manager, first, objects, namespaces, labels)
        stay(manager, seconds, labels | {"objects": objects, "namespaces": namespaces})
        manager.check()
        client.close()


@contextmanager
def api_server(server, world):
    """The kubeconfig of the server to measure with; the embedded one is there."""
    if server == "embedded":
        yield world.kubeconfig
        return
    assets = Path(os.environ.get("KUBEBUILDER_ASSETS", "/nonexistent"))
    if lacking := envtest.missing(assets):
        message = f"KUBEBUILDER_ASSETS={assets} lacks {' and '.join(lacking)}"
        raise click.ClickException(message)
    with envtest.running(assets) as cluster:
        path = world.folder / "real-kubeconfig"
        cluster.write_kubeconfig(path)
        yield path


def wait_until_served(client, wanted):
    """Block until discovery knows all kinds: it follows CRDs some seconds later."""
    deadline = time.monotonic() + SERVED_SECONDS
    while len(discover(client, builtin()).versions) < len(wanted):
        if time.monotonic() > deadline:
            message = f"not all kinds are served after {SERVED_SECONDS:g} s"
            raise click.ClickException(message)
        time.sleep(1)


def started(world, kubeconfig, crd_pattern, labels):
    """A manager that is ready."""
    health = free_port()
    manager = world.start_manager(
        *("--health-addr", f"127.0.0.1:{health}"),
        *("--crd-pattern", crd_pattern),
        environment={"KUBECONFIG": str(kubeconfig)},
    )
    took = wait_until_ready(health, manager.check)
    report("start to ready", round(took, 2), "s", **labels)
    report("CPU to ready", round(cpu_seconds(manager.pid), 2), "s", **labels)
    report("RSS when ready", memory_mib(manager.pid, "VmRSS"), "MiB", **labels)
    report("threads", thread_count(manager.pid), "", **labels)
    report("sockets", socket_count(manager.pid), "", **labels)
    return manager


def settle(client, manager, first, objects, namespaces, labels):
    """Make groups, and wait until all are Ready."""
    if not objects:
        return
    resource = resource_of(first.version())
    following = Following(client, [resource])
    names = [f"team-{number}" for number in range(namespaces)]
    for name in names:
        client.create(NAMESPACES, {"metadata": {"name": name}})
    before = cpu_seconds(manager.pid)
    for number in range(objects):
        made = group(f"rg-{number}")
        made["metadata"]["namespace"] = names[number % namespaces]
        client.create(resource, made)
    following.wait(lambda ready: len(ready) == objects and all(ready))
    following.stop()
    each = 1000 * (cpu_seconds(manager.pid) - before) / objects
    labels = labels | {"objects": objects, "namespaces": namespaces}
    report("CPU to Ready", round(each, 1), "ms/resource", **labels)


def stay(manager, seconds, labels):
    """Let it be, and say what that costs."""
    cpu, began = cpu_seconds(manager.pid), time.perf_counter()
    time.sleep(seconds)
    used = cpu_seconds(manager.pid) - cpu
    idle = 1000 * used / (time.perf_counter() - began)
    labels = labels | {"seconds": seconds}
    report("idle CPU", round(idle, 2), "millicores", **labels)
    report("RSS idle", memory_mib(manager.pid, "VmRSS"), "MiB", **labels)
    report("peak RSS", memory_mib(manager.pid, "VmHWM"), "MiB", **labels)


def thread_count(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"Threads:\s+(\d+)", status)[1])


def socket_count(pid):
    """How many sockets a process holds: servers' and connections."""
    count = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            count += link.readlink().name.startswith("socket:")
    return count


if __name__ == "__main__":
    main()
