"""Watch with the informer: one handler, called for each event. URL EVENTS."""

import sys

from meter import Meter

from asoreconcile.base.clock import SystemClock
from asoreconcile.cache.informer import Informer
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.resources import ApiResource

ACCOUNTS = ApiResource("example.com", "v1", "accounts", "Account")


def main() -> None:
    url, count = sys.argv[1], int(sys.argv[2])
    meter = Meter(count)
    config = ClusterConfig(url=url, trust=None, authorization=str)
    client = KubeClient(config, user_agent="bench")
    informer = Informer(client, ACCOUNTS, clock=SystemClock())
    informer.add_handler(lambda _event: meter.event())
    informer.start()
    meter.wait()


if __name__ == "__main__":
    main()
