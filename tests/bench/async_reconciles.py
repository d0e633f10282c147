"""CPU and memory of reconciles that wait: threads, against three ways with coroutines.

    hack/bench async-reconciles [--workers N ...] [--rounds N]

Each way runs in a process of its own, one after the other in each round; the least of
all rounds counts, as a busy machine only adds. A reconcile waits for 20 ms.
"""

import argparse
import asyncio
import itertools
import resource
import subprocess
import sys
import threading
import time

WAIT_SECONDS = 0.02
EACH = 20


def by_thread():
    never = threading.Event()
    return lambda: never.wait(WAIT_SECONDS)


def by_loop_of_the_thread():
    kept = threading.local()

    def work():
        if not hasattr(kept, "runner"):
            kept.runner = asyncio.Runner()
        kept.runner.run(asyncio.sleep(WAIT_SECONDS))

    return work


def by_shared_loop():
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    pause = asyncio.sleep
    return lambda: asyncio.run_coroutine_threadsafe(pause(WAIT_SECONDS), loop).result()


def by_loop_of_the_reconcile():
    return lambda: asyncio.run(asyncio.sleep(WAIT_SECONDS))


WAYS = {
    "thread": by_thread,
    "thread's loop": by_loop_of_the_thread,
    "shared loop": by_shared_loop,
    "loop each": by_loop_of_the_reconcile,
}


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def measure(way, workers):
    """Microseconds of CPU a reconcile, and kilobytes a worker."""
    from asoreconcile.base.clock import SystemClock
    from asoreconcile.queue.workqueue import WorkQueue
    from asoreconcile.runtime.worker_pool import WorkerPool

    wait, total, all_done = WAYS[way](), workers * EACH, threading.Event()
    ended = itertools.count(1)

    def work(_item):
        wait()
        if next(ended) == total:
            all_done.set()

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    clock = SystemClock()

    def scale_up():
        pool.scale_up()

    queue = WorkQueue("bench", clock=clock, on_ready=scale_up)
    pool = WorkerPool(queue, work, clock=clock, most=workers, idle_seconds=60)
    pool.open()
    began = time.process_time()
    for number in range(total):
        queue.add(("default", str(number)))
    all_done.wait()
    cpu = (time.process_time() - began) / total * 1e6
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    say(f"{cpu} {grown / workers}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure(options.one[0], int(options.one[1]))
        return
    say("| workers | way | us of CPU a reconcile | KB a worker |\n|---|---|---|---|")
    for workers in options.workers:
        found = {way: [] for way in WAYS}
        for _ in range(options.rounds):
            for way, rows in found.items():
                command = [sys.executable, __file__, "--one", way, str(workers)]
                answer = subprocess.run(command, check=True, capture_output=True)
                rows.append([float(one) for one in answer.stdout.split()])
        for way, rows in found.items():
            cpu, memory = (min(column) for column in zip(*rows, strict=True))
            say(f"| {workers} | {way} | {cpu:.0f} | {memory:.0f} |")


if __name__ == "__main__":
    main()
