"""The embedded Kubernetes API server: a real one to its clients, in this process.

    with KubeServer() as server:
        server.write_kubeconfig(path)

HTTPS on 127.0.0.1 with its own certificate authority and one bearer token; objects live
in memory. `faults` makes things go wrong, `journal` tells what was asked.
"""

import base64
import hmac
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import yaml

from asoreconcile.clock import Clock, SystemClock
from asoreconcile.objects import JsonObject
from asoreconcile.testing.certificates import certificate_authority
from asoreconcile.testing.faults import Faults
from asoreconcile.testing.http import HttpsServer, Request, Response, Server
from asoreconcile.testing.kube.answers import refusal
from asoreconcile.testing.kube.api import Api
from asoreconcile.testing.kube.kinds import NAMESPACES
from asoreconcile.testing.kube.options import WriteOptions
from asoreconcile.testing.kube.status import unauthorized
from asoreconcile.testing.kube.storage import Storage

_FIRST_NAMESPACES = ("default", "kube-system", "kube-public")


@attrs.frozen
class Served:
    """One answered request."""

    method: str
    path: str
    status: int
    user_agent: str


class KubeServer(Server):
    """Start with `with` or `start()`; end with `close()`."""

    def __init__(
        self, *, token: str | None = None, port: int = 0, clock: Clock | None = None
    ) -> None:
        """token: the bearer token clients must show; None makes one.
        port: 0 is any free one. clock: of timestamps.
        """
        authority = certificate_authority()
        self.ca_pem: bytes = authority.pem
        self.token = token or secrets.token_urlsafe(24)
        self.faults = Faults()
        self.journal: list[Served] = []
        self._journal_lock = threading.Lock()
        self._storage = Storage()
        self._api = Api(self._storage, clock or SystemClock())
        certificate = authority.issue(["127.0.0.1", "localhost"])
        self._server = HttpsServer(self._serve, certificate=certificate, port=port)
        for name in _FIRST_NAMESPACES:
            body = {"metadata": {"name": name}}
            self._api.writes.create(NAMESPACES, "", body, WriteOptions())

    @property
    def url(self) -> str:
        return self._server.url

    def start(self) -> None:
        self._server.start()

    def close(self) -> None:
        """Stop: held requests go on, watches end, connections are cut."""
        self.faults.release_all()
        self._storage.close()
        self._server.close()

    def kubeconfig(self) -> JsonObject:
        """A kubeconfig with one context, for the namespace `default`."""
        authority = base64.b64encode(self.ca_pem).decode()
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "embedded",
            "clusters": [
                {
                    "name": "embedded",
                    "cluster": {
                        "server": self.url,
                        "certificate-authority-data": authority,
                    },
                }
            ],
            "users": [{"name": "admin", "user": {"token": self.token}}],
            "contexts": [
                {
                    "name": "embedded",
                    "context": {
                        "cluster": "embedded",
                        "user": "admin",
                        "namespace": "default",
                    },
                }
            ],
        }

    def kubeconfig_text(self) -> str:
        return yaml.safe_dump(self.kubeconfig(), sort_keys=False)

    def write_kubeconfig(self, path: str | Path) -> None:
        """Write the kubeconfig, for its owner's eyes: it holds the token."""
        target = Path(path)
        target.unlink(missing_ok=True)
        target.touch(mode=0o600)
        target.write_text(self.kubeconfig_text())

    def cut_watches(self) -> None:
        """Break all watches' connections."""
        self._storage.cut_watches()

    def forget_changes(self) -> None:
        """Make watches from any earlier version answer 410."""
        self._storage.compact()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Let no write and no read through for a while."""
        with self._storage.lock:
            yield

    def _serve(self, request: Request) -> Response:
        response = self.faults.around(request, self._authenticated)
        served = Served(
            request.method,
            request.path,
            response.status,
            request.headers.get("user-agent", ""),
        )
        with self._journal_lock:
            self.journal.append(served)
        return response

    def _authenticated(self, request: Request) -> Response:
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
            return refusal(unauthorized())
        return self._api.handle(request)
