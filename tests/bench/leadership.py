"""Leader election: for how long nobody writes when the leader ends, or is killed.

    hack/bench leadership [--rounds N] [--seconds LEASE RENEW RETRY] [--only HOW]

Processes of one application, of which the leader writes every 20 ms; counted is the
time between the last write of one and the first of the next, by the machine's clock.
"""

import argparse
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from watching.running import show

from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.kube.selection import Selection
from asoreconcile.testing.kube import KubeServer

# Writes its name every 20 ms.
PROGRAM = """
import sys
from time import monotonic
from asoreconcile import CONFIG_MAPS, Added, Application, LeaderElectionOptions, Result, LeaseTiming

name, kubeconfig, *seconds = sys.argv[1:]
timing = LeaseTiming(*map(float, seconds))
election = LeaderElectionOptions("lease", identity=name, timing=timing)
app = Application(name, cluster=kubeconfig, leader_election=election)

class Sign:
    def reconcile(self, request):
        data = {"by": name, "at": str(monotonic())}
        app.client.patch(CONFIG_MAPS, request.key, {"data": data})
        return Result(requeue_after_seconds=0.02)

app.reconcile(CONFIG_MAPS, Sign(), when=lambda event: isinstance(event, Added))
print("up", flush=True)
sys.exit(app.run())
"""
SIGNALS = {"ends": signal.SIGTERM, "is killed": signal.SIGKILL}


def start(name, kubeconfig, seconds):
    arguments = [name, kubeconfig, *map(str, seconds)]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments], stdout=subprocess.PIPE
    )
    process.stdout.readline()
    return process


def gaps(client, kubeconfig, number, rounds, seconds):
    """Seconds between the last write of one leader and the first of the next."""
    made = client.create(
        CONFIG_MAPS, {"metadata": {"namespace": "default", "name": "signed"}}
    )
    version = made["metadata"]["resourceVersion"]
    stream = client.watch(
        Selection(CONFIG_MAPS, "default"),
        resource_version=version,
        timeout_seconds=3600,
    )
    names = (f"replica-{count}" for count in range(rounds + 1))
    name = next(names)
    leader = start(name, kubeconfig, seconds)
    with closing(stream):
        events = signed(stream)
        wait(events, name)
        for successor in names:
            standby = start(successor, kubeconfig, seconds)
            for _ in range(10):  # it stands by, and its caches are full
                _, last = next(events)
            time.sleep(1)
            leader.send_signal(number)
            for by, at in events:
                if by == successor:
                    yield at - last
                    break
                last = at
            leader.wait()
            leader.stdout.close()
            leader = standby
    leader.kill()
    leader.wait()
    leader.stdout.close()


def signed(stream):
    """Who wrote, and when: by the machine's clock, which the processes share."""
    for _, obj in stream:
        if data := obj.get("data"):
            yield data["by"], float(data["at"])


def wait(events, name):
    for by, _ in events:
        if by == name:
            return


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, nargs=3, default=(15, 10, 2))
    parser.add_argument("--only", choices=SIGNALS)
    options = parser.parse_args()
    for how in [options.only] if options.only else SIGNALS:
        with tempfile.TemporaryDirectory() as folder, KubeServer() as server:
            path = str(Path(folder) / "kubeconfig")
            server.write_kubeconfig(path)
            with closing(KubeClient(load(path), user_agent="bench")) as client:
                measured = list(
                    gaps(client, path, SIGNALS[how], options.rounds, options.seconds)
                )
        line = {
            "benchmark": f"leadership: the leader {how}",
            "lease_seconds": options.seconds[0],
            "gap_seconds": [round(one, 3) for one in measured],
            "median_seconds": round(statistics.median(measured), 3),
        }
        show(line)


if __name__ == "__main__":
    main()
