"""N resource groups with a virtual network each: to Ready, then gone.

The operator, the API server and Azure's simulator are processes of their own, as in a
sandbox. Prints one JSON line for each figure:

    hack/bench main-job [--pairs N] [--latency SECONDS] [--lro SECONDS] [--every-kind]
                        [--stored-forms | --in-place] [--repeat N]

CPU and memory are the manager's alone, read from /proc. A pair is made and deleted before
the others, and told apart: it has the libraries of the sign-in loaded. With --stored-forms the CRDs are
as Azure Service Operator has them: every version, each with its stored form beside it,
and the manager converts, also for the watches of this program. --in-place does both in
turn, and compares.
"""

import json
import os
import re
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.cmd.local_cluster import AzureOptions, LocalCluster
from asoreconcile.azure.controllers import crds
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.azure.controllers.webhooks import WebhookOptions
from asoreconcile.azure.reconcile.model.conditions import is_ready
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import GroupKind, key_of
from asoreconcile.cache.events import Deleted
from asoreconcile.cache.informers import Informers
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from asoreconcile.testing.ports import free_port
from asoreconcile.testing.throwaway_certificates import certificate_authority

GROUPS = GroupKind("resources.azure.com", "ResourceGroup")
NETWORKS = GroupKind("network.azure.com", "VirtualNetwork")
LIMIT_SECONDS = 600.0
TICK = os.sysconf("SC_CLK_TCK")
# As in the image: the manager's modules are compiled, after the first run at the latest.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


class Following:
    """Which objects exist and are Ready, kept by watching; no polling."""

    def __init__(self, client, resources):
        self._changed = threading.Condition()
        self._ready = {}
        # By resource and key: when it was first seen Ready, and when gone.
        self.became_ready, self.was_gone = {}, {}
        self._informers = Informers(client, clock=SystemClock())
        for resource in resources:
            informer = self._informers.of(resource)
            informer.add_handler(lambda event, of=resource: self._on(of, event))
        self._informers.start()

    def _on(self, resource, event):
        key = (resource.plural, event.key)
        now = time.perf_counter()
        with self._changed:
            if isinstance(event, Deleted):
                self._ready.pop(key, None)
                self.was_gone[key] = now
            else:
                entry = getattr(event, "entry", None) or event.new
                self._ready[key] = is_ready(entry.deep_copy())
                if self._ready[key]:
                    self.became_ready.setdefault(key, now)
            self._changed.notify_all()

    def wait(self, holds):
        """Block until `holds(values)`; seconds it took."""
        began = time.perf_counter()
        with self._changed:
            done = self._changed.wait_for(
                lambda: holds(list(self._ready.values())), LIMIT_SECONDS
            )
        if not done:
            message = f"not done after {LIMIT_SECONDS:g} s"
            raise click.ClickException(message)
        return time.perf_counter() - began

    def stop(self):
        self._informers.stop(5.0)


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory_mib(pid, name):
    status = Path(f"/proc/{pid}/status").read_text()
    return round(int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 1024, 1)


def wait_until_ready(port, check):
    """Block until /readyz says so; seconds it took."""
    began = time.perf_counter()
    while True:
        check()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz"):
                return time.perf_counter() - began
        except (urllib.error.URLError, ConnectionError):
            # Each answer is a look at all kinds, a millisecond of what is measured.
            time.sleep(0.05)


def counted(port, metric):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text = answer.read().decode()
    pattern = rf"^{metric}\{{.*\}} ([\d.e+]+)"
    return sum(float(n) for n in re.findall(pattern, text, re.MULTILINE))


def by_method(port):
    """Requests of the manager to its API server so far, by method."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text = answer.read().decode()
    found = Counter()
    for labels, number in re.findall(
        r"^rest_client_requests_total\{(.*)\} ([\d.e+]+)", text, re.MULTILINE
    ):
        found[re.search(r'method="(\w+)"', labels)[1]] += float(number)
    return found


def spread(figure, began, ended):
    """Median and 99th percentile of the seconds from one time to another."""
    waited = sorted(ended[key] - since for key, since in began.items())
    for percent in (50, 99):
        value = waited[min(len(waited) - 1, len(waited) * percent // 100)]
        report(f"{figure}, p{percent}", round(value, 2), "s")


def reconciles(port):
    return counted(port, "controller_runtime_reconcile_total")


def manifests(count):
    for number in range(count):
        yield {
            "apiVersion": "resources.azure.com/v1api20200601",
            "kind": "ResourceGroup",
            "metadata": {"name": f"rg-{number}", "namespace": "default"},
            "spec": {"location": "westeurope"},
        }
        yield {
            "apiVersion": "network.azure.com/v20250301",
            "kind": "VirtualNetwork",
            "metadata": {"name": f"vnet-{number}", "namespace": "default"},
            "spec": {
                "location": "westeurope",
                "owner": {"name": f"rg-{number}"},
                "addressSpace": {"addressPrefixes": ["10.0.0.0/16"]},
            },
        }


def first_pair(client, resources, following):
    """The first sign-in loads its libraries: once for a process, and in no lifecycle."""
    objs = list(manifests(1))
    for obj in objs:
        client.create(resources[obj["kind"]], obj)
    following.wait(lambda ready: len(ready) == len(objs) and all(ready))
    for obj in objs:
        client.delete(resources[obj["kind"]], key_of(obj))
    following.wait(lambda ready: not ready)
    following.became_ready.clear()
    following.was_gone.clear()


def definition(kind, conversion):
    if conversion is None:
        return crds.manifest(kind)
    forms = [*kind.versions, *(f"{name}storage" for name in kind.versions)]
    return crd(kind, versions=forms, conversion=conversion, complete=True)


def install(client, kinds, conversion=None):
    for kind in kinds:
        document = definition(kind, conversion)
        client.patch(
            CUSTOM_RESOURCE_DEFINITIONS,
            key_of(document),
            document,
            kind="apply",
            field_manager=crds.FIELD_MANAGER,
            force=True,
        )


def report(figure, value, unit, **more):
    click.echo(json.dumps({"figure": figure, "value": value, "unit": unit, **more}))


def webhooks(folder):
    """Where the API server finds the manager's, and the manager's options for it."""
    authority = certificate_authority()
    certificate, key = authority.issue(["127.0.0.1"])
    for name, pem in (
        ("tls.crt", certificate),
        ("tls.key", key),
        ("ca.crt", authority.pem),
    ):
        (folder / name).write_bytes(pem)
    port = free_port()
    url = f"https://127.0.0.1:{port}"
    served = WebhookOptions(address=f":{port}", cert_dir=folder, url=url)
    return served.client(), (f"--webhook-port={port}", f"--webhook-cert-dir={folder}")


@click.command()
@click.option("--pairs", default=100, show_default=True, help="Groups, and networks.")
@click.option("--latency", default=0.05, show_default=True, help="Of ARM, seconds.")
@click.option("--lro", default=1.0, show_default=True, help="Of operations, seconds.")
@click.option(
    "--kinds", default=20, show_default=True, help="Kinds that are installed."
)
@click.option("--every-kind", is_flag=True, help="Install all kinds of the catalogue.")
@click.option("--stored-forms", is_flag=True, help="CRDs as ASO's, with conversion.")
@click.option("--own-core", is_flag=True, help="The manager alone on one of the cores.")
@click.option("--in-place", is_flag=True, help="Own CRDs and ASO's form in turn.")
@click.option("--repeat", default=1, show_default=True, help="Runs after each other.")
def main(repeat, in_place, own_core, **options):
    """The main job, measured."""
    options["core"] = manager_core() if own_core else None
    for _ in range(repeat):
        if not in_place:
            measure(**options)
            continue
        forms = ({"stored_forms": False}, {"stored_forms": True})
        own, theirs = (measure(**options | form) for form in forms)
        report("lifecycle in place", round(theirs / own, 2), "of that on own CRDs")


def manager_core():
    """A core for the manager alone: all that is started from here on keeps to the
    others.
    """
    first, *others = sorted(os.sched_getaffinity(0))
    if not others:
        raise click.UsageError("--own-core: there is one core, which all have to share")
    os.sched_setaffinity(0, others)
    return first


@contextmanager
def on_core(core):
    """What is started in the block keeps to this core. None: to no particular one."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def measure(pairs, latency, lro, kinds, every_kind, stored_forms, core):
    catalogue = builtin()
    wanted = [catalogue.kind(GROUPS), catalogue.kind(NETWORKS)]
    others = [k for k in catalogue.kinds() if k.is_arm and k not in wanted]
    wanted += others if every_kind else others[: max(0, kinds - len(wanted))]
    metrics, health = free_port(), free_port()
    azure = AzureOptions(latency=latency, lro=lro, retry_after=1)
    with LocalCluster(azure) as world:
        conversion, more = webhooks(world.folder) if stored_forms else (None, ())
        install(world.client, wanted, conversion)
        with on_core(core):
            manager = world.start_manager(
                *("--metrics-addr", f"127.0.0.1:{metrics}"),
                "--secure-metrics=false",
                *("--health-addr", f"127.0.0.1:{health}"),
                *more,
            )
        synced = wait_until_ready(health, world.check)
        report(
            "start to all informers synced", round(synced, 2), "s", kinds=len(wanted)
        )
        report("CPU until then", cpu_seconds(manager.pid), "s", kinds=len(wanted))
        report("RSS after start", memory_mib(manager.pid, "VmRSS"), "MiB")
        resources = {
            kind.group_kind.kind: resource_of(kind.version()) for kind in wanted[:2]
        }
        following = Following(world.client, resources.values())
        before_first = cpu_seconds(manager.pid)
        first_pair(world.client, resources, following)
        first = round(1000 * (cpu_seconds(manager.pid) - before_first))
        report("CPU of the first pair, once", first, "ms")
        cpu, passes = cpu_seconds(manager.pid), reconciles(metrics)
        objs = list(manifests(pairs))
        asked_before = by_method(metrics)
        arm_before = Counter(world.azure("counts")["byMethod"])
        began, applied = time.perf_counter(), {}
        for obj in objs:
            resource = resources[obj["kind"]]
            applied[resource.plural, key_of(obj)] = time.perf_counter()
            world.client.create(resource, obj)
        following.wait(lambda ready: len(ready) == len(objs) and all(ready))
        to_ready = time.perf_counter() - began
        report("seconds to all Ready", round(to_ready, 2), "s", resources=len(objs))
        spread("seconds to Ready", applied, following.became_ready)
        ready_cpu = cpu_seconds(manager.pid) - cpu
        report("CPU to Ready", round(1000 * ready_cpu / len(objs), 1), "ms/resource")
        done = reconciles(metrics) - passes
        report("reconciles", round(done / to_ready, 1), "1/s", total=done)
        began, deleted = time.perf_counter(), {}
        for obj in objs:
            resource = resources[obj["kind"]]
            deleted[resource.plural, key_of(obj)] = time.perf_counter()
            with suppress(NotFoundError):  # its owner went, and it was collected
                world.client.delete(resource, key_of(obj))
        following.wait(lambda ready: not ready)
        report("seconds to all gone", round(time.perf_counter() - began, 2), "s")
        spread("seconds to gone", deleted, following.was_gone)
        used = cpu_seconds(manager.pid) - cpu
        each = round(1000 * used / len(objs), 1)
        shown = {"stored_forms": stored_forms, "own_core": core is not None}
        report("CPU per lifecycle", each, "ms/resource", **shown)
        report("peak RSS", memory_mib(manager.pid, "VmHWM"), "MiB")
        if stored_forms:
            asked = counted(metrics, "controller_runtime_webhook_requests_total")
            report("webhook requests", round(asked / len(objs), 1), "1/resource")
        asked = by_method(metrics) - asked_before
        for method, count in sorted(asked.items()):
            figure = f"API server {method} requests"
            report(figure, round(count / len(objs), 2), "1/resource")
        total = round(asked.total() / len(objs), 2)
        report("API server requests", total, "1/resource")
        counts = Counter(world.azure("counts")["byMethod"]) - arm_before
        for method, count in sorted(counts.items()):
            figure = f"ARM {method} requests"
            report(figure, round(count / len(objs), 2), "1/resource")
        following.stop()
        return each


if __name__ == "__main__":
    main()
