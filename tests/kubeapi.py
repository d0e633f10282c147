"""The embedded API server in this process, and plain requests to it, for wire tests.

The client is that of the contract tests, so the same requests work with other servers.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "contract"))

from contractclient import Server, widgets_crd

from asoreconcile.testing.kube import KubeServer

__all__ = ["Server", "client_of", "kube_server", "widgets_crd"]


@contextmanager
def kube_server(**options: Any) -> Iterator[tuple[KubeServer, Server]]:
    """Yield a running server and its administrator's client."""
    with KubeServer(**options) as kube, client_of(kube) as client:
        yield kube, client


def client_of(kube: KubeServer, token: str = "") -> Server:
    """Return a user's client, by default the administrator's. The caller closes it."""
    return Server(kube.url, token or kube.token, kube.ca_pem.decode())
