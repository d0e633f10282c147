"""The work queue: a key's cycle, a hop between threads, late delays, overtaking.

Claim: the queue is never the bottleneck of a reconcile, which takes milliseconds, and
what a person changed does not wait for what was merely listed. Prints a JSON line a
scenario. Peers in the same run: `queue.Queue`, which dedups, orders and measures
nothing, and client-go's queue where Go is installed.
"""

import argparse
import json
import queue
import random
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from prometheus_client import CollectorRegistry

from asoreconcile.base.clock import SystemClock
from asoreconcile.observability.metrics import RuntimeMetrics
from asoreconcile.queue.workqueue import LOW_PRIORITY, WorkQueue

_ROUNDS = 20
_GO = Path(__file__).with_name("clientgo")
_RELISTED, _CHANGED, _WORKERS, _WORK_SECONDS = 10_000, 10, 4, 0.002
CLOCK = SystemClock()


def report(benchmark: str, **figures: object) -> None:
    print(json.dumps({"benchmark": f"workqueue: {benchmark}", **figures}))  # noqa: T201


def in_threads(count: int, run: Callable[[int], None]) -> float:
    """Seconds until `run(index)` has returned on each of `count` threads."""
    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begun


def best(keys: int, *rounds: Callable[[], float]) -> list[float]:
    """Microseconds a key of each, best of many short rounds taken in turn: what else
    the machine does meets all of them alike.
    """
    spent = [[round_() for round_ in rounds] for _ in range(_ROUNDS)]
    return [min(seconds) / keys * 1e6 for seconds in zip(*spent, strict=True)]


def ours(
    threads: int, keys: int, *, fair: bool = False, metrics: bool = False
) -> float:
    work: WorkQueue[tuple[int, int]] = WorkQueue(
        "bench",
        clock=CLOCK,
        fairness=(lambda key: key[1] % 50) if fair else None,
        metrics=RuntimeMetrics(CollectorRegistry()).queue("bench") if metrics else None,
    )

    def run(thread: int) -> None:
        for i in range(keys // threads):
            work.add((thread, i))
            item = work.get()
            assert item is not None
            work.done(item.key)

    return in_threads(threads, run)


def peer(threads: int, keys: int) -> float:
    channel: queue.Queue[tuple[int, int]] = queue.Queue()

    def run(thread: int) -> None:
        for i in range(keys // threads):
            channel.put((thread, i))
            channel.get()
            channel.task_done()

    return in_threads(threads, run)


def client_go(folder: Path) -> Path | None:
    """The peer's program, built; None where Go or its modules cannot be had."""
    if shutil.which("go") is None:
        return None
    program = folder / "clientgo"
    build = ["go", "build", "-o", str(program), "."]
    done = subprocess.run(build, cwd=_GO, capture_output=True, check=False)
    return program if done.returncode == 0 else None


def cycles(keys: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = client_go(Path(folder))
        for threads in (1, 4, 16):
            base, spent = best(
                keys, partial(peer, threads, keys), partial(ours, threads, keys)
            )
            go_us: float | str = "skipped: no Go, or its modules cannot be fetched"
            if program:
                command = [str(program), str(threads), str(keys)]
                go_us = int(subprocess.check_output(command)) / 1000
            report(
                f"add, get, done in {threads} threads",
                us_per_key=round(spent, 2),
                queue_Queue_us_per_key=round(base, 2),
                speed_against_queue_Queue=round(base / spent, 2),
                client_go_us_per_key=go_us,
            )
    base, fair, metrics = best(
        keys,
        lambda: peer(1, keys),
        lambda: ours(1, keys, fair=True),
        lambda: ours(1, keys, metrics=True),
    )
    for name, spent in (("fairness", fair), ("metrics", metrics)):
        report(
            f"add, get, done with {name}",
            us_per_key=round(spent, 2),
            queue_Queue_us_per_key=round(base, 2),
        )


@contextmanager
def busy(threads: int) -> Iterator[None]:
    """Others that compute meanwhile."""
    over = threading.Event()

    def burn() -> None:
        while not over.is_set():
            sum(range(200))

    burners = [threading.Thread(target=burn) for _ in range(threads)]
    for burner in burners:
        burner.start()
    try:
        yield
    finally:
        over.set()
        for burner in burners:
            burner.join()


def hops(
    put: Callable[[int], None], take: Callable[[], object], count: int
) -> list[float]:
    """Microseconds from a put on one thread to its take on another: p50 and p90."""
    sent = [0.0] * count
    taken = [0.0] * count
    turn = threading.Semaphore(0)

    def receive() -> None:
        for i in range(count):
            take()
            taken[i] = time.perf_counter()
            turn.release()

    receiver = threading.Thread(target=receive)
    receiver.start()
    for i in range(count):
        sent[i] = time.perf_counter()
        put(i)
        turn.acquire()
    receiver.join()
    spent = sorted((b - a) * 1e6 for a, b in zip(sent, taken, strict=True))
    return [round(spent[count // 2], 1), round(spent[count * 9 // 10], 1)]


def hop() -> None:
    for burners in (0, 2):
        work: WorkQueue[int] = WorkQueue("bench", clock=CLOCK)
        channel: queue.Queue[int] = queue.Queue()

        def take(work: WorkQueue[int] = work) -> None:
            item = work.get()
            assert item is not None
            work.done(item.key)

        count = 2000 if not burners else 400
        with busy(burners):
            base = hops(channel.put, channel.get, count)
            spent = hops(work.add, take, count)
        report(
            f"hop to a waiting worker, {burners} busy threads",
            p50_p90_us=spent,
            queue_Queue_p50_p90_us=base,
            ratio_of_p90=round(spent[1] / base[1], 2),
        )


def lateness(count: int = 2000) -> None:
    work: WorkQueue[int] = WorkQueue("bench", clock=CLOCK)
    chance = random.Random(1)
    due = []
    for key in range(count):
        delay = chance.uniform(0.2, 2.0)
        due.append(time.monotonic() + delay)
        work.add_after(key, delay)
    late = []
    for _ in range(count):
        item = work.get()
        assert item is not None
        late.append((time.monotonic() - due[item.key]) * 1000)
        work.done(item.key)
    late.sort()
    report(
        f"lateness of {count} delayed adds, idle",
        median_ms=round(late[count // 2], 2),
        p99_ms=round(late[count * 99 // 100], 2),
    )


def overtaking() -> None:
    work: WorkQueue[str] = WorkQueue("bench", clock=CLOCK)
    begun: dict[str, float] = {}
    never = threading.Event()

    def serve(_: int) -> None:
        while (item := work.get()) is not None:
            begun[item.key] = time.perf_counter()
            never.wait(_WORK_SECONDS)
            work.done(item.key)

    for key in range(_RELISTED):
        work.add(f"relisted-{key}", priority=LOW_PRIORITY)
    workers = threading.Thread(target=in_threads, args=(_WORKERS, serve))
    workers.start()
    never.wait(0.5)
    added = time.perf_counter()
    for key in range(_CHANGED):
        work.add(f"changed-{key}")
    work.shut_down()
    workers.join()
    waited = [at - added for key, at in begun.items() if key.startswith("changed")]
    rest = max(begun.values()) - added
    report(
        f"{_CHANGED} changed objects while {_RELISTED} relisted ones wait",
        last_begun_after_s=round(max(waited), 3),
        relisted_done_after_s=round(rest, 2),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=8_000)
    cycles(parser.parse_args().keys)
    hop()
    lateness()
    overtaking()


if __name__ == "__main__":
    main()
