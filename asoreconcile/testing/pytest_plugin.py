"""pytest fixtures for tests of controllers, available wherever this package is
installed.

pytest finds them through the entry point; do not import them. Their modules are
imported on first use, so that other tests pay nothing.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import pytest

if TYPE_CHECKING:
    from asoreconcile.kube.client import KubeClient
    from asoreconcile.testing.clock import FakeClock
    from asoreconcile.testing.envtest import RealKubeServer
    from asoreconcile.testing.kube import KubeServer

_ASSETS = "KUBEBUILDER_ASSETS"
_PAUSE_SECONDS = 0.005
_LONGEST_PAUSE_SECONDS = 0.1

_Found = TypeVar("_Found")


class Eventually(Protocol):
    """The type of the fixture `eventually`."""

    def __call__(
        self, check: Callable[[], _Found], *, timeout_seconds: float = 20.0
    ) -> _Found:
        """Call `check` until it returns something true, and return that.

        An AssertionError or a missing object counts as "not yet"; any other exception
        ends the test. When the time-out, in real seconds, is over, the last
        AssertionError is raised.
        """


@pytest.fixture
def kube_server() -> "Iterator[KubeServer]":
    """An embedded Kubernetes API server for one test."""
    from asoreconcile.testing.kube import KubeServer

    with KubeServer() as server:
        yield server


@pytest.fixture
def kubeconfig(kube_server: "KubeServer", tmp_path: Path) -> str:
    """The path of a kubeconfig for `kube_server`: `Application(..., cluster=...)`."""
    path = tmp_path / "kubeconfig"
    kube_server.write_kubeconfig(path)
    return str(path)


@pytest.fixture
def kube_client(kubeconfig: str) -> "Iterator[KubeClient]":
    """An administrator's client of `kube_server`, for actions of a user in a test."""
    from asoreconcile.kube.client import KubeClient
    from asoreconcile.kube.config import load

    with closing(KubeClient(load(kubeconfig), user_agent="tests")) as client:
        yield client


@pytest.fixture(scope="session")
def real_kube_server() -> "Iterator[RealKubeServer]":
    """A real kube-apiserver for the whole run; skips without KUBEBUILDER_ASSETS.

    All tests share the server, so each needs a namespace or names of its own.
    """
    from asoreconcile.testing.envtest import running

    folder = os.environ.get(_ASSETS, "")
    if not folder:
        pytest.skip(f"{_ASSETS} names no folder with kube-apiserver and etcd")
    with running(Path(folder)) as server:
        yield server


@pytest.fixture
def fake_clock() -> "FakeClock":
    """A clock that only the test advances: `Application(..., clock=...)`."""
    from asoreconcile.testing.clock import FakeClock

    return FakeClock()


@pytest.fixture
def eventually() -> Eventually:
    """Wait for the effects of other threads and processes, without a sleep."""
    return _eventually


def _eventually(
    check: Callable[[], _Found], *, timeout_seconds: float = 20.0
) -> _Found:
    from asoreconcile.kube.errors import NotFoundError

    deadline, pause = time.monotonic() + timeout_seconds, _PAUSE_SECONDS
    while True:
        failure: Exception | None = None
        try:
            if found := check():
                return found
        except (AssertionError, NotFoundError) as error:
            failure = error
        if time.monotonic() >= deadline:
            last = str(failure) if failure else f"it returned {found!r}"
            message = f"not within {timeout_seconds:g} s: {last}"
            raise AssertionError(message) from failure
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
