"""Sync an informer, then say what that took and what it keeps. URL OBJECTS."""

import gc
import json
import sys
import threading
import time
from pathlib import Path

from asoreconcile.cache.informer import Informer
from asoreconcile.clock import SystemClock
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.resources import ApiResource

ACCOUNTS = ApiResource("example.com", "v1", "accounts", "Account")
_LIMIT_SECONDS = 120.0
_ROUNDS = 5


def memory_kib(name: str) -> int:
    """VmRSS, or VmHWM: the most it ever was."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise LookupError(name)


def full_collection_seconds() -> float:
    """The shortest of several: what it costs, not what else the machine does."""
    best = float("inf")
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        gc.collect()
        best = min(best, time.perf_counter() - began)
    return best


def main() -> None:
    url, count = sys.argv[1], int(sys.argv[2])
    config = ClusterConfig(url=url, ssl_context=None, authorization=str)
    client = KubeClient(config, user_agent="bench")
    informer = Informer(client, ACCOUNTS, clock=SystemClock())
    seen = 0
    synced = threading.Event()

    def handler(_event: object) -> None:
        nonlocal seen
        seen += 1
        if seen == count:
            synced.set()

    informer.add_handler(handler)
    gc.collect()
    gc_before = full_collection_seconds()
    before = memory_kib("VmRSS")
    began, cpu = time.perf_counter(), time.process_time()
    informer.start()
    if not synced.wait(_LIMIT_SECONDS):
        raise TimeoutError(informer.last_error)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    pause = full_collection_seconds()
    steady = memory_kib("VmRSS")
    told = {
        "sync_seconds": round(seconds, 2),
        "cpu_us_per_object": round(cpu / count * 1e6, 1),
        "peak_over_steady_rss": round(memory_kib("VmHWM") / steady, 2),
        "rss_mib": round(steady / 1024, 1),
        "rss_bytes_per_object": round((steady - before) * 1024 / count),
        "full_gc_ms": round(pause * 1000, 1),
        "full_gc_ms_before": round(gc_before * 1000, 1),
    }
    print(json.dumps(told))  # noqa: T201 - who starts it reads it


if __name__ == "__main__":
    main()
