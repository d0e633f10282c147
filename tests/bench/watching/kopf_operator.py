"""Watch with kopf: one on.event handler, called for each object. URL EVENTS."""

import sys
import threading

import kopf
from meter import Meter


def main() -> None:
    url, count = sys.argv[1], int(sys.argv[2])
    meter = Meter(count)

    @kopf.on.event("example.com", "v1", "accounts")
    def seen(**_: object) -> None:
        meter.event()

    @kopf.on.startup()
    def quiet(settings: kopf.OperatorSettings, **_: object) -> None:
        settings.posting.enabled = False

    @kopf.on.login()
    def login(**_: object) -> kopf.ConnectionInfo:
        return kopf.ConnectionInfo(server=url)

    stop = threading.Event()
    options = {"clusterwide": True, "standalone": True, "stop_flag": stop}
    operator = threading.Thread(target=kopf.run, kwargs=options, daemon=True)
    operator.start()
    meter.wait()
    stop.set()
    operator.join(10)


if __name__ == "__main__":
    main()
