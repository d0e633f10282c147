"""The embedded API server in this process, and plain requests to it, for wire tests.

The client is the contract suite's: what a test says of this server could be asked of
another.
"""

import sys
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "contract"))

from contractclient import Server, widgets_crd

from asoreconcile.testing.kube import KubeServer

__all__ = ["Server", "client_of", "kube_server", "widgets_crd"]


@contextmanager
def kube_server(**options):
    """A running server and its administrator's client."""
    with KubeServer(**options) as kube, client_of(kube) as client:
        yield kube, client


def client_of(kube, token=""):
    """A client of a user, the administrator by default; close it."""
    return Server(kube.url, token or kube.token, kube.ca_pem.decode())
