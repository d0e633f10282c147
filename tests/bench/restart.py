"""A manager that starts where N objects are settled: CPU, memory, requests.

    hack/bench restart [--objects N]... [--kinds N] [--seconds N] [--sync-period TEXT]
                       [--server real]

Read from /proc: the manager's alone, one process for each number of objects. The estate
is written into both servers as another process has left it (`settled_estate`). Until
synced: all informers hold their first list. Until looked at: each object had its first
reconcile, told by a CPU that does nothing more and then by the metrics.
"""

import time
from collections import Counter
from itertools import pairwise

import click
from idle import api_server, wait_until_served
from main_job import (
    Following,
    by_method,
    counted,
    cpu_seconds,
    free_port,
    install,
    memory_mib,
    report,
    wait_until_ready,
)
from settled_estate import GROUP, MEMBERS, SettledEstate, is_noted

from asoreconcile.azure.cmd.local_cluster import AzureOptions, LocalCluster
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load

# So little CPU in a second, in so many seconds one after another, is no first look.
_QUIET_SECONDS, _QUIET_CPU = 3, 0.06
_LIMIT_SECONDS = 300.0


@click.command()
@click.option(
    "--objects",
    "counts",
    multiple=True,
    default=(0, 1000, 3000, 10000, 30000),
    show_default=True,
    help="Settled, for a start each; repeatable.",
)
@click.option("--kinds", default=290, show_default=True, help="Kinds installed.")
@click.option("--seconds", default=60, show_default=True, help="To stay, after that.")
@click.option("--sync-period", default="1h", show_default=True, help="Of the managers.")
@click.option(
    "--server",
    type=click.Choice(["embedded", "real"]),
    default="embedded",
    show_default=True,
    help="The API server; a real one needs KUBEBUILDER_ASSETS.",
)
def main(counts, kinds, seconds, sync_period, server):
    """Starts, measured."""
    seeds = [builtin().kind(seed.group_kind) for seed in (GROUP, *MEMBERS)]
    others = [k for k in builtin().kinds() if k.is_arm and k not in seeds]
    wanted = [*seeds, *others[: max(0, kinds - len(seeds))]]
    azure = AzureOptions(latency=0.0, lro=0.0, retry_after=1)
    with LocalCluster(azure) as world, api_server(server, world) as kubeconfig:
        client = KubeClient(load(str(kubeconfig)), user_agent="bench")
        install(client, wanted)
        wait_until_served(client, wanted)
        environment = {"KUBECONFIG": str(kubeconfig), "AZURE_SYNC_PERIOD": sync_period}
        labels = {"kinds": len(wanted), "server": server}
        if 0 in counts:
            start(world, environment, 0, seconds, labels)
        manager = world.start_manager(environment=environment)
        settle(client)
        manager.end()
        estate = SettledEstate(world, client)
        for count in sorted(count for count in counts if count):
            began = time.perf_counter()
            estate.grow(count)
            took = round(time.perf_counter() - began, 1)
            report("estate written", took, "s", objects=estate.count)
            start(world, environment, estate.count, seconds, labels)
        client.close()


def settle(client):
    """One object of each kind, made by a manager."""
    seeds = (GROUP, *MEMBERS)
    following = Following(client, [seed.resource for seed in seeds])
    for seed in seeds:
        owner = "" if seed is GROUP else GROUP.name
        client.create(seed.resource, seed.manifest(owner))
    following.wait(lambda ready: len(ready) == len(seeds) and all(ready))
    following.stop()
    # What a restart reads is written after Ready was shown.
    deadline = time.monotonic() + _LIMIT_SECONDS
    while not all(is_noted(client, seed) for seed in seeds):
        if time.monotonic() > deadline:
            message = f"not noted after {_LIMIT_SECONDS:g} s"
            raise click.ClickException(message)
        time.sleep(0.1)


def start(world, environment, objects, seconds, labels):
    """A manager from its start until it has nothing to do, and that for some seconds."""
    labels = labels | {"objects": objects}
    asked_before = world.azure("counts")["byMethod"]
    health, metrics = free_port(), free_port()
    manager = world.start_manager(
        *("--health-addr", f"127.0.0.1:{health}"),
        *("--metrics-addr", f"127.0.0.1:{metrics}", "--secure-metrics=false"),
        environment=environment,
    )
    took = wait_until_ready(health, manager.check)
    report("start to ready", round(took, 2), "s", **labels)
    report("CPU to ready", cpu_seconds(manager.pid), "s", **labels)
    report("CPU until all were looked at", quiet(manager), "s", **labels)
    report("RSS then", memory_mib(manager.pid, "VmRSS"), "MiB", **labels)
    report("peak RSS then", memory_mib(manager.pid, "VmHWM"), "MiB", **labels)
    resumed = counted(metrics, "asoreconcile_sync_puts_avoided_total")
    report("first looks without a request", resumed, "", **labels)
    time.sleep(seconds)
    manager.check()
    report("RSS later", memory_mib(manager.pid, "VmRSS"), "MiB", **labels)
    report("CPU later", cpu_seconds(manager.pid), "s", **labels)
    for method, number in sorted(by_method(metrics).items()):
        report(f"API server {method} requests", number, "", **labels)
    asked = Counter(world.azure("counts")["byMethod"])
    asked.subtract(asked_before)
    for method, number in sorted(asked.items()):
        report(f"ARM {method} requests", number, "", **labels)
    manager.end()


def quiet(manager):
    """Block until the process does next to nothing; its CPU before that."""
    deadline = time.monotonic() + _LIMIT_SECONDS
    seen = [cpu_seconds(manager.pid)]
    while time.monotonic() < deadline:
        manager.check()
        time.sleep(1)
        seen.append(cpu_seconds(manager.pid))
        last = seen[-_QUIET_SECONDS - 1 :]
        steps = [after - before for before, after in pairwise(last)]
        if len(steps) == _QUIET_SECONDS and max(steps) <= _QUIET_CPU:
            return last[0]
    message = f"not done after {_LIMIT_SECONDS:g} s"
    raise click.ClickException(message)


if __name__ == "__main__":
    main()
