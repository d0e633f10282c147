"""The API servers under test: the embedded one, and a real one if available.

KUBEBUILDER_ASSETS names a folder with kube-apiserver and etcd (`hack/envtest` makes
one): every test then runs on both. ASORECONCILE_CONTRACT_URL, _TOKEN and _CA (a PEM
file) name a running server instead, with an administrator's token. The tests use plain
HTTP, so they hold for any server. `-m real` runs only the tests that need the real one.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from contractclient import Server, widgets_crd

from asoreconcile.testing import envtest

_VARIABLE = "ASORECONCILE_CONTRACT_"
_ASSETS = "KUBEBUILDER_ASSETS"
_HAS_REAL = bool(os.environ.get(_ASSETS) or os.environ.get(f"{_VARIABLE}URL"))
TARGETS = ("embedded", "real") if _HAS_REAL else ("embedded",)


@pytest.fixture(scope="session")
def servers() -> Iterator[Callable[[str], Server]]:
    """Return a function that starts each target's server when it is first needed."""
    known: dict[str, Server] = {}
    with ExitStack() as stack:

        def find(target: str) -> Server:
            if target not in known:
                known[target] = stack.enter_context(_started(target, stack))
                known[target].install(widgets_crd())
            return known[target]

        yield find


@pytest.fixture(scope="session")
def targets() -> tuple[str, ...]:
    """Return the names of the available servers."""
    return TARGETS


@pytest.fixture(
    params=["embedded", pytest.param("real", marks=pytest.mark.real)][: len(TARGETS)]
)
def server(request: pytest.FixtureRequest, servers: Callable[[str], Server]) -> Server:
    """An administrator's client. The CRD `widgets.contract.example.com` exists."""
    return servers(request.param)


@pytest.fixture
def namespace(server: Server) -> Iterator[str]:
    """A namespace for one test, which is deleted afterwards."""
    with server.namespace() as name:
        yield name


def _started(target: str, stack: ExitStack) -> Server:
    if target == "embedded":
        from asoreconcile.testing.kube import KubeServer

        embedded = stack.enter_context(KubeServer(rbac=True))
        return Server(embedded.url, embedded.token, embedded.ca_pem.decode())
    if url := os.environ.get(f"{_VARIABLE}URL"):
        trusted = Path(os.environ[f"{_VARIABLE}CA"]).read_text()
        return Server(url, os.environ[f"{_VARIABLE}TOKEN"], trusted)
    folder = Path(os.environ[_ASSETS])
    if lacking := envtest.missing(folder):
        pytest.fail(f"{_ASSETS}={folder} lacks {', '.join(lacking)}; see hack/envtest")
    real = stack.enter_context(envtest.running(folder))
    return Server(real.url, real.token, real.authority_pem)
