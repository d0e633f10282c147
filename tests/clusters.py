"""The API servers on which whole operators are tested: the embedded one, and a real
one.

KUBEBUILDER_ASSETS names a folder with kube-apiserver and etcd (`hack/envtest` makes
one). Tests with the fixture `make_cluster` then run on both.
"""

import os
from contextlib import ExitStack
from pathlib import Path
from ssl import create_default_context

import pytest
import urllib3

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

    def __init__(self, *options):
        self.faults = self
        self._options = options
        self._stack = ExitStack()
        self._server = None

    def __enter__(self):
        folder = Path(os.environ[_ASSETS])
        if lacking := envtest.missing(folder):
            pytest.fail(f"{_ASSETS}={folder} lacks {', '.join(lacking)}")
        self._server = self._stack.enter_context(
            envtest.running(folder, *self._options)
        )
        return self

    def __exit__(self, *exc):
        self._stack.__exit__(*exc)

    def release_all(self):
        """Do nothing, because there are no faults."""

    def write_kubeconfig(self, path, token=""):
        self._server.write_kubeconfig(path, token)

    def add_service_account(self, namespace, name):
        """Make a service account; return a token that the API server signed."""
        self._post("/api/v1/namespaces", {"metadata": {"name": namespace}})
        accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        self._post(accounts, {"metadata": {"name": name}})
        answer = self._post(f"{accounts}/{name}/token", {"spec": {}})
        return answer["status"]["token"]

    def _post(self, path, obj):
        """Return the created object, or the refusal if the object exists."""
        context = create_default_context(cadata=self._server.authority_pem)
        headers = {"Authorization": f"Bearer {self._server.token}"}
        with urllib3.PoolManager(ssl_context=context, headers=headers) as pool:
            answer = pool.request("POST", self._server.url + path, json=obj)
        assert answer.status in (201, 409), answer.data
        return answer.json()


def cluster(target, **options):
    """Return an API server that is not started yet.

    options: options of the embedded server. The real one always has roles.
    """
    return KubeServer(**options) if target == "embedded" else RealCluster()
