"""Leader election: how long a write is past its last look at the lease, and not yet out.

    hack/bench fencing [--writes N] [--busy N ...]

One thread writes over TLS as the client does; others compute, and want the interpreter.
Counted is the time from the fence's answer until libcurl has handed the bytes over.
"""

import argparse
import statistics
import threading
from collections.abc import Callable
from contextlib import closing
from time import monotonic
from typing import Any

from watching.running import show

from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.testing.http import HttpResponse, HttpsServer
from asoreconcile.testing.throwaway_certificates import certificate_authority
from asoreconcile.wire.handle import CurlHandle
from asoreconcile.wire.trust import TlsTrust

_MICROS = 1e6
_ANSWER = b'{"metadata": {"namespace": "default", "name": "one"}}'


class Stopwatch:
    """The fence, and the moment after it."""

    def __init__(self) -> None:
        self.looked = 0.0
        self.gaps: list[float] = []

    def __call__(self) -> None:
        self.looked = monotonic()

    def timed(self, turn: Callable[[CurlHandle], Any]) -> Callable[[CurlHandle], Any]:
        """From the look to when libcurl is back: what it was to send is out."""

        def turns(handle: CurlHandle) -> Any:
            try:
                return turn(handle)
            finally:
                if self.looked:
                    self.gaps.append(monotonic() - self.looked)
                    self.looked = 0.0

        return turns


def gaps(writes: int, busy: int) -> list[float]:
    authority = certificate_authority()
    stopwatch, over = Stopwatch(), threading.Event()
    whole = CurlHandle.turn
    CurlHandle.turn = stopwatch.timed(whole)  # type: ignore[assignment,method-assign]
    for _ in range(busy):
        threading.Thread(target=compute, args=(over,)).start()
    pair = authority.issue(["127.0.0.1"])
    try:
        with HttpsServer(
            lambda _: HttpResponse(200, _ANSWER), certificate=pair
        ) as server:
            config = ClusterConfig(
                url=server.url,
                trust=lambda: TlsTrust(authority.pem),
                authorization=lambda: "",
            )
            client = KubeClient(config, user_agent="bench", before_write=stopwatch)
            with closing(client):
                for _ in range(writes):
                    client.patch(CONFIG_MAPS, ObjectKey("default", "one"), {"data": {}})
    finally:
        over.set()
        CurlHandle.turn = whole  # type: ignore[method-assign]
    return stopwatch.gaps


def compute(over: threading.Event) -> None:
    while not over.is_set():
        sum(range(100))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writes", type=int, default=300)
    parser.add_argument("--busy", type=int, nargs="*", default=[0, 4])
    options = parser.parse_args()
    for busy in options.busy:
        found = sorted(gaps(options.writes, busy))
        line = {
            "scenario": f"{busy} threads compute",
            "writes": len(found),
            "median_us": round(statistics.median(found) * _MICROS, 1),
            "p99_us": round(found[int(len(found) * 0.99)] * _MICROS, 1),
            "longest_us": round(found[-1] * _MICROS, 1),
        }
        show(line)


if __name__ == "__main__":
    main()
