"""What a process uses: memory now and at most, and the pauses of its collector."""

import gc
import json
import time
from pathlib import Path

_ROUNDS = 5


def memory_kib(name: str) -> int:
    """VmRSS, or VmHWM: the most it ever was."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise LookupError(name)


def full_collection_seconds() -> float:
    """CPU of the shortest of several: what it costs, whatever else the machine does."""
    best = float("inf")
    for _ in range(_ROUNDS):
        began = time.process_time()
        gc.collect()
        best = min(best, time.process_time() - began)
    return best


class Before:
    """A process before it has read anything; `tell` what that has cost since."""

    def __init__(self) -> None:
        gc.collect()
        self._pause = full_collection_seconds()
        self._memory = memory_kib("VmRSS")
        self._began, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> None:
        """All has been read: time stops here."""
        self._seconds = time.perf_counter() - self._began
        self._cpu = time.process_time() - self._cpu

    def tell(self, count: int) -> None:
        """Print a JSON line about so many objects, which are still held."""
        pause = full_collection_seconds()
        steady = memory_kib("VmRSS")
        told = {
            "sync_seconds": round(self._seconds, 2),
            "cpu_us_per_object": round(self._cpu / count * 1e6, 1),
            "peak_over_steady_rss": round(memory_kib("VmHWM") / steady, 2),
            "rss_mib": round(steady / 1024, 1),
            "rss_bytes_per_object": round((steady - self._memory) * 1024 / count),
            "full_gc_ms": round(pause * 1000, 1),
            "full_gc_ms_before": round(self._pause * 1000, 1),
        }
        print(json.dumps(told))  # noqa: T201 - who starts it reads it
