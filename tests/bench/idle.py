"""A manager with every kind and nothing to do: CPU and memory of the start, and after.

    hack/bench idle [--kinds N] [--seconds N] [--objects N] [--namespaces N]

Read from /proc: the manager's alone. Until ready: all informers hold their first list.
Idle: a steady estate of N groups, settled, none due for its sync, over so many
namespaces.
"""

import re
import time
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

from asoreconcile.cmd.local_cluster import AzureOptions, LocalCluster
from asoreconcile.controllers.catalogue import builtin
from asoreconcile.controllers.kind_registry import resource_of
from asoreconcile.kube.resources import NAMESPACES


@click.command()
@click.option("--kinds", default=290, show_default=True, help="Kinds installed.")
@click.option("--seconds", default=60, show_default=True, help="To stay idle.")
@click.option("--objects", default=100, show_default=True, help="Groups, settled.")
@click.option("--namespaces", default=1, show_default=True, help="Of the groups.")
def main(kinds, seconds, objects, namespaces):
    """Start and idle, measured."""
    catalogue = builtin()
    first = catalogue.kind(GROUPS)
    others = [k for k in catalogue.kinds() if k.is_arm and k is not first]
    wanted = [first, *others[: kinds - 1]]
    health = free_port()
    with LocalCluster(AzureOptions(latency=0.0, lro=0.0, retry_after=1)) as world:
        install(world.client, wanted)
        manager = world.start_manager("--health-addr", f"127.0.0.1:{health}")
        took = wait_until_ready(health, world.check)
        labels = {"kinds": len(wanted)}
        report("start to ready", round(took, 2), "s", **labels)
        report("CPU to ready", round(cpu_seconds(manager.pid), 2), "s", **labels)
        report("RSS when ready", memory_mib(manager.pid, "VmRSS"), "MiB", **labels)
        report("threads", thread_count(manager.pid), "", **labels)
        resource = resource_of(first.version())
        following = Following(world.client, [resource])
        names = [f"team-{number}" for number in range(namespaces)]
        for name in names:
            world.client.create(NAMESPACES, {"metadata": {"name": name}})
        before = cpu_seconds(manager.pid)
        for number in range(objects):
            made = group(f"rg-{number}")
            made["metadata"]["namespace"] = names[number % namespaces]
            world.client.create(resource, made)
        following.wait(lambda ready: len(ready) == objects and all(ready))
        following.stop()
        cpu, began = cpu_seconds(manager.pid), time.perf_counter()
        labels |= {"objects": objects, "namespaces": namespaces}
        if objects:
            each = 1000 * (cpu - before) / objects
            report("CPU to Ready", round(each, 1), "ms/resource", **labels)
        time.sleep(seconds)
        used = cpu_seconds(manager.pid) - cpu
        idle = 1000 * used / (time.perf_counter() - began)
        labels |= {"seconds": seconds}
        report("idle CPU", round(idle, 2), "millicores", **labels)
        report("RSS idle", memory_mib(manager.pid, "VmRSS"), "MiB", **labels)
        report("peak RSS", memory_mib(manager.pid, "VmHWM"), "MiB", **labels)


def thread_count(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"Threads:\s+(\d+)", status)[1])


if __name__ == "__main__":
    main()
