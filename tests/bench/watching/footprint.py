"""Sync an informer, then say what that took and what it keeps. URL OBJECTS."""

import sys
import threading

from process import Before

from asoreconcile.base.clock import SystemClock
from asoreconcile.cache.informer import Informer
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.resources import ApiResource

ACCOUNTS = ApiResource("example.com", "v1", "accounts", "Account")
_LIMIT_SECONDS = 120.0


def main() -> None:
    url, count = sys.argv[1], int(sys.argv[2])
    config = ClusterConfig(url=url, trust=None, authorization=str)
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
    before = Before()
    informer.start()
    if not synced.wait(_LIMIT_SECONDS):
        raise TimeoutError(informer.last_error)
    before.read()
    before.tell(count)


if __name__ == "__main__":
    main()
