"""The API servers on which whole operators are tested: the embedded one, and a real
one.

KUBEBUILDER_ASSETS names a folder with kube-apiserver and etcd (`hack/envtest` makes
one). Tests with the fixture `make_cluster` then run on both.
"""

import os
from contextlib import ExitStack
from pathlib import Path
from ssl import create_default_context
from typing import Any, Self

import pytest
import urllib3

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing import envtest
from asoreconcile.testing.kube import KubeServer

_ASSETS = "KUBEBUILDER_ASSETS"
_REAL = pytest.param("real", marks=pytest.mark.real)
HAS_REAL = bool(os.environ.get(_ASSETS))
TARGETS = ("embedded", _REAL) if HAS_REAL else ("embedded",)


class RealCluster:
    """A kube-apiserver with the interface of `KubeServer`. Use as a context manager.

    There is no garbage collection, no journal, and there are no faults.

    options: further options of kube-apiserver.
    """

    def __init__(self, *options: str) -> None:
        self.faults = self
        self._options = options
        self._stack = ExitStack()
        self._server: envtest.RealKubeServer | None = None

    def __enter__(self) -> Self:
        folder = Path(os.environ[_ASSETS])
        if lacking := envtest.missing(folder):
            pytest.fail(f"{_ASSETS}={folder} lacks {', '.join(lacking)}")
        self._server = self._stack.enter_context(
            envtest.running(folder, *self._options)
        )
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def release_all(self) -> None:
        """Do nothing, because there are no faults."""

    def write_kubeconfig(self, path: Path, token: str = "") -> None:
        self._running.write_kubeconfig(path, token)

    def add_service_account(self, namespace: str, name: str) -> str:
        """Make a service account; return a token that the API server signed."""
        self._post("/api/v1/namespaces", {"metadata": {"name": namespace}})
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        self._post(accounts, {"metadata": {"name": name}})
        answer = self._post(f"{accounts}/{name}/token", {"spec": {}})
        return str(answer["status"]["token"])

    def _post(self, path: str, obj: JsonObject) -> JsonObject:
        """Return the created object, or the refusal if the object exists."""
        context = create_default_context(cadata=self._running.authority_pem)
        headers = {"Authorization": f"Bearer {self._running.token}"}
        with urllib3.PoolManager(ssl_context=context, headers=headers) as pool:
            answer = pool.request("POST", self._running.url + path, json=obj)
        assert answer.status in (201, 409), answer.data
        found: JsonObject = answer.json()
        return found

    @property
    def _running(self) -> envtest.RealKubeServer:
        assert self._server is not None  # the context was entered
        return self._server


def cluster(target: str, **options: Any) -> KubeServer | RealCluster:
    """Return an API server that is not started yet.

    options: options of the embedded server. The real one always has roles.
    """
    return KubeServer(**options) if target == "embedded" else RealCluster()
