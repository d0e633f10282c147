"""No-op reconciles: listed objects, then changed ones; beside kopf where installed.

Claim: what the runtime adds to a reconcile is small beside the work of any real one.
Both run the same job, each in a process of its own against the embedded API server in
a third: N ConfigMaps are there at the start, then each is changed once. Prints a JSON
line each: reconciles a second while catching up with what is listed, and CPU
microseconds a reconcile for the list and for the changes.

    hack/bench reconciles [--objects N]
"""

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.testing.kube import KubeServer


class Tally:
    """Counts reconciles of the child, and says a line whenever a goal is reached."""

    def __init__(self, goal):
        self.goal = goal
        self.lock = threading.Lock()
        self.count = 0
        self.started = 0.0
        self.cpu = cpu_seconds()

    def one(self):
        with self.lock:
            now = time.perf_counter()
            if not self.count:
                self.started = now
            self.count += 1
            if self.count < self.goal:
                return
            spent, self.count = now - self.started, 0
            cpu, self.cpu = self.cpu, cpu_seconds()
            line = {"seconds": spent, "cpu_seconds": self.cpu - cpu}
            print(json.dumps(line), flush=True)  # noqa: T201


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def run_ours(goal):
    from asoreconcile import Application, ControllerOptions, Result

    app = Application("bench")
    tally = Tally(goal)

    class Nothing:
        def reconcile(self, request):
            tally.one()
            return Result()

    app.reconcile(
        CONFIG_MAPS, Nothing(), options=ControllerOptions(max_concurrent_reconciles=4)
    )
    return app.run()


def run_kopf(goal):
    import kopf

    tally = Tally(goal)

    @kopf.on.startup()
    def quiet(settings, **_):
        settings.posting.enabled = False

    @kopf.on.event("", "v1", "configmaps")
    def nothing(**_):
        tally.one()

    kopf.run(clusterwide=True, standalone=True)


def child(name, kubeconfig, goal):
    """A process of one of them; a line on its stdout for each goal reached."""
    return subprocess.Popen(
        [sys.executable, __file__, "--child", name, "--objects", str(goal)],
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def measure(name, objects):
    with KubeServer() as server, tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        server.write_kubeconfig(kubeconfig)
        client = KubeClient(load(str(kubeconfig)), user_agent="bench")
        keys = [ObjectKey("default", f"object-{i}") for i in range(objects)]
        for key in keys:
            meta = {"namespace": key.namespace, "name": key.name}
            client.create(CONFIG_MAPS, {"metadata": meta, "data": {"n": "1"}})
        process = child(name, kubeconfig, objects)
        try:
            listed = json.loads(process.stdout.readline())
            for key in keys:
                client.patch(CONFIG_MAPS, key, {"data": {"n": "2"}})
            changed = json.loads(process.stdout.readline())
        finally:
            process.kill()
            process.wait()
            client.close()
    return {
        "listed_per_s": round(objects / listed["seconds"]),
        "listed_cpu_us": round(listed["cpu_seconds"] / objects * 1e6),
        "changed_cpu_us": round(changed["cpu_seconds"] / objects * 1e6),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=3000)
    parser.add_argument("--child", choices=["ours", "kopf"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        sys.exit({"ours": run_ours, "kopf": run_kopf}[options.child](options.objects))
    for name in ("ours", "kopf"):
        line = {"benchmark": f"reconciles: {name}"}
        if name == "ours" or importlib.util.find_spec(name):
            line |= measure(name, options.objects)
        else:
            line["skipped"] = f"{name} is not installed"
        print(json.dumps(line))  # noqa: T201


if __name__ == "__main__":
    main()
