"""Fixtures for tests over real HTTP.

Tests of the simulated Azure define `azure`, the server, themselves.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from h2peer import H2Peer, greet, h2_serving

from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.arm.session import ArmSession
from asoreconcile.testing.kube import KubeServer
from asoreconcile.wire.loop import StreamLoop


@pytest.fixture
def server() -> Iterator[KubeServer]:
    """The embedded API server, empty."""
    with KubeServer() as server:
        yield server


@pytest.fixture
def client(server: KubeServer, tmp_path: Path) -> Iterator[KubeClient]:
    """The administrator's client of `server`."""
    server.write_kubeconfig(tmp_path / "kubeconfig")
    client = KubeClient(load(str(tmp_path / "kubeconfig")), user_agent="tests/1")
    yield client
    client.close()


@pytest.fixture
def session(azure: ArmServer) -> Iterator[ArmSession]:
    with azure.session() as signed_in:
        yield signed_in


@pytest.fixture
def group(azure: ArmServer) -> str:
    path = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg"
    azure.seed(path, {"location": "westeurope"})
    return path


@pytest.fixture
def serving_h2() -> Iterator[Callable[..., tuple[H2Peer, StreamLoop]]]:
    """A function that makes (peer, loop) over HTTP/2: `serving_h2(handle, **options)`.

    Without a handle, each stream is answered with b"first".
    """
    with h2_serving(greet) as make:
        yield make
