"""What a key costs in the work queue: add, get, done; beside the stdlib's queue.

Claim: the queue is never the bottleneck of a reconcile, which takes milliseconds.
Prints a JSON line a scenario: microseconds a key (best of several rounds), and the
ratio to `queue.Queue` put + get in the same run, which dedups, orders and measures
nothing.
"""

import argparse
import json
import queue
import threading
import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry

from asoreconcile.clock import SystemClock
from asoreconcile.metrics import RuntimeMetrics
from asoreconcile.queue.workqueue import WorkQueue

_ROUNDS = 5


def peer(keys: int) -> None:
    channel: queue.Queue[int] = queue.Queue()
    for key in range(keys):
        channel.put(key)
    for _ in range(keys):
        channel.get()


def cycle(work: WorkQueue[int], keys: int) -> None:
    for key in range(keys):
        work.add(key)
    for _ in range(keys):
        item = work.get()
        assert item is not None
        work.done(item.key)


def plain(keys: int) -> None:
    cycle(WorkQueue("bench", clock=SystemClock()), keys)


def fair(keys: int) -> None:
    cycle(WorkQueue("bench", clock=SystemClock(), fairness=lambda k: k % 50), keys)


def measured(keys: int) -> None:
    metrics = RuntimeMetrics(CollectorRegistry()).queue("bench")
    cycle(WorkQueue("bench", clock=SystemClock(), metrics=metrics), keys)


def collapsed(keys: int) -> None:
    work: WorkQueue[int] = WorkQueue("bench", clock=SystemClock())
    for _ in range(keys):
        work.add(0)


def delayed(keys: int) -> None:
    work: WorkQueue[int] = WorkQueue("bench", clock=SystemClock())
    for key in range(keys):
        work.add_after(key, 3600.0 + key)
    work.shut_down()


def contended(keys: int) -> None:
    work: WorkQueue[int] = WorkQueue("bench", clock=SystemClock())

    def serve() -> None:
        while (item := work.get()) is not None:
            work.done(item.key)

    workers = [threading.Thread(target=serve) for _ in range(32)]
    for worker in workers:
        worker.start()
    for key in range(keys):
        work.add(key)
    work.shut_down_with_drain(60)
    for worker in workers:
        worker.join()


SCENARIOS: dict[str, Callable[[int], None]] = {
    "add, get, done": plain,
    "50 fairness groups": fair,
    "with metrics": measured,
    "collapsed adds": collapsed,
    "delayed adds": delayed,
    "32 workers": contended,
}


def best_microseconds(run: Callable[[int], None], keys: int) -> float:
    best = float("inf")
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        run(keys)
        best = min(best, time.perf_counter() - begun)
    return best / keys * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=20_000)
    keys = parser.parse_args().keys
    base = best_microseconds(peer, keys)
    for name, run in SCENARIOS.items():
        spent = best_microseconds(run, keys)
        line = {
            "benchmark": f"queue cycle: {name}",
            "us_per_key": round(spent, 2),
            "peer": "queue.Queue put, get",
            "peer_us_per_key": round(base, 2),
            "ratio": round(spent / base, 2),
        }
        print(json.dumps(line))  # noqa: T201 - its output


if __name__ == "__main__":
    main()
