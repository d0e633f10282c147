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
    from asoreconcile.base.objects import JsonObject, ObjectKey
    from asoreconcile.kube.client import KubeClient
    from asoreconcile.testing.clock import FakeClock
    from asoreconcile.testing.envtest import RealKubeServer
    from asoreconcile.testing.kube import KubeServer
    from asoreconcile.webhooks.managed import ManagedCertificates
    from asoreconcile.webhooks.server import WebhookServer

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


class CallWebhooks(Protocol):
    """The type of the fixture `call_webhooks`."""

    def __call__(
        self,
        server: "WebhookServer",
        name: str,
        *,
        service: "ObjectKey",
        certificates: "ManagedCertificates",
    ) -> None:
        """Create the configurations of a running webhook server in `kube_server`, send
        calls of the Service to the server's port, and wait until `certificates` has
        written each configuration's caBundle.

        name: the name of the configurations. Raises AssertionError if the server does
        not listen, or a caBundle is missing, within 20 seconds.
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


@pytest.fixture
def call_webhooks(kube_server: "KubeServer", kube_client: "KubeClient") -> CallWebhooks:
    """Have `kube_server` call a webhook server, as a cluster calls its Service."""
    from asoreconcile.base.objects import ObjectKey as Key
    from asoreconcile.webhooks.ca_bundles import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS

    kinds = {one.kind: one for one in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)}

    def call(
        server: "WebhookServer",
        name: str,
        *,
        service: "ObjectKey",
        certificates: "ManagedCertificates",
    ) -> None:
        port = _eventually(lambda: server.port)
        kube_server.route_service(service, f"127.0.0.1:{port}")
        documents = server.configurations(name, service=service)
        for document in documents:
            kube_client.create(kinds[document["kind"]], document)
        certificates.refresh()

        def all_trust_the_server() -> bool:
            for kind in (kinds[document["kind"]] for document in documents):
                found = kube_client.get(kind, Key("", name))["webhooks"]
                missing = [one["name"] for one in found if not trusts(one)]
                assert not missing, f"targets= lacks the {kind.kind} {name}: {missing}"
            return True

        _eventually(all_trust_the_server)

    def trusts(webhook: "JsonObject") -> bool:
        return bool(webhook["clientConfig"].get("caBundle"))

    return call
