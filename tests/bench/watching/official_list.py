"""List with the `kubernetes` package, in pages, and keep the dicts. URL OBJECTS."""

import sys

from kubernetes import client
from process import Before

PAGE = 500


def main() -> None:
    url, count = sys.argv[1], int(sys.argv[2])
    configuration = client.Configuration()
    configuration.host = url
    api = client.CustomObjectsApi(client.ApiClient(configuration))
    before = Before()
    kept: list[dict] = []
    token = ""
    while True:
        page = api.list_cluster_custom_object(
            "example.com", "v1", "accounts", limit=PAGE, _continue=token
        )
        kept += page["items"]
        token = page["metadata"].get("continue", "")
        if not token:
            break
    before.read()
    assert len(kept) == count
    before.tell(count)


if __name__ == "__main__":
    main()
