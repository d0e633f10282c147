"""Watch with the `kubernetes` package, custom objects as dicts. URL EVENTS."""

import sys

from kubernetes import client, watch
from meter import Meter


def main() -> None:
    url, count = sys.argv[1], int(sys.argv[2])
    meter = Meter(count)
    configuration = client.Configuration()
    configuration.host = url
    api = client.CustomObjectsApi(client.ApiClient(configuration))
    stream = watch.Watch().stream(
        api.list_cluster_custom_object, "example.com", "v1", "accounts"
    )
    for _event in stream:
        meter.event()
        if meter.is_done:
            break
    meter.tell()


if __name__ == "__main__":
    main()
