"""Time and CPU between the first event and the last, printed as a JSON line."""

import json
import threading
import time

_LIMIT_SECONDS = 300.0


class Meter:
    """Counts events up to a number."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._seen = 0
        self._done = threading.Event()

    def event(self) -> None:
        if self._seen == 0:
            self._began = time.perf_counter()
            self._cpu = time.process_time()
        self._seen += 1
        if self._seen == self._count:
            self._seconds = time.perf_counter() - self._began
            self._cpu = time.process_time() - self._cpu
            self._done.set()

    def wait(self) -> None:
        """Until the last event; then say what it took."""
        if not self._done.wait(_LIMIT_SECONDS):
            raise TimeoutError(f"{self._seen} of {self._count} events came")
        self.tell()

    def tell(self) -> None:
        events = self._count - 1  # the first one starts the clock
        told = {
            "events_per_second": round(events / self._seconds),
            "cpu_us_per_event": round(self._cpu / events * 1e6, 1),
        }
        print(json.dumps(told), flush=True)  # noqa: T201 - who starts it reads it

    @property
    def is_done(self) -> bool:
        return self._done.is_set()
