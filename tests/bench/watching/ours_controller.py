"""Watch with an application: a controller whose reconciles do nothing. URL EVENTS."""

import sys
import threading

from meter import Meter

from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.resources import ApiResource
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.reconciler import Request, Result

ACCOUNTS = ApiResource("example.com", "v1", "accounts", "Account")


def main() -> None:
    url, count = sys.argv[1], int(sys.argv[2])
    meter = Meter(count)
    config = ClusterConfig(url=url, trust=None, authorization=str)
    app = Application("bench", cluster=config)

    def nothing(_request: Request) -> Result:
        meter.event()
        return Result()

    def stop_when_done() -> None:
        meter.wait()
        app.stop()

    app.reconcile(ACCOUNTS, nothing)
    threading.Thread(target=stop_when_done, daemon=True).start()
    app.run()


if __name__ == "__main__":
    main()
