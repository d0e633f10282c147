"""The embedded Kubernetes API server: like a real one for clients, in this process.

    with KubeServer() as server:
        server.write_kubeconfig(path)

The server uses HTTPS on 127.0.0.1, with its own certificate authority and one bearer
token. Objects are in memory, or in a folder that outlives the process. `faults` makes
requests fail, and `journal` lists the requests.
"""

import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from asoreconcile.base.clock import Clock, SystemClock
from asoreconcile.base.objects import JsonObject, ObjectKey
from asoreconcile.testing.clock import ShiftedClock
from asoreconcile.testing.control import is_control
from asoreconcile.testing.http import HttpRequest, HttpResponse, HttpsServer, Server
from asoreconcile.testing.kube import kubeconfigs
from asoreconcile.testing.kube.access.entry import AccessControl
from asoreconcile.testing.kube.access.users import ADMIN, User, Users, service_account
from asoreconcile.testing.kube.api import Api
from asoreconcile.testing.kube.bootstrap import begin
from asoreconcile.testing.kube.controls import journal
from asoreconcile.testing.kube.controls.control import KubeControl
from asoreconcile.testing.kube.controls.faults import KubeFaults
from asoreconcile.testing.kube.controls.measures import Measures
from asoreconcile.testing.kube.store.kept_by_name import Identity, kept
from asoreconcile.testing.kube.store.persistence import DataFolder
from asoreconcile.testing.kube.store.storage import Storage
from asoreconcile.testing.kube.wire.answers import compressed, refusal
from asoreconcile.testing.kube.wire.hooks import Services
from asoreconcile.testing.kube.wire.status import StatusError
from asoreconcile.testing.throwaway_certificates import certificate_authority


class KubeServer(Server):
    """A Kubernetes API server. Start it with `with` or `start()`, end it with
    `close()`.
    """

    def __init__(
        self,
        *,
        token: str | None = None,
        port: int = 0,
        clock: Clock | None = None,
        data_dir: str | Path | None = None,
        fsync: bool = False,
        rbac: bool = False,
        users: Iterable[tuple[str, User]] = (),
        services: Mapping[str, str] | None = None,
        control_token: str = "",
    ) -> None:
        """Make the server.

        token: the administrator's bearer token; if None, the one of the data folder, or
        a new one.
        port: if 0, any free port.
        clock: clock for timestamps and for delays of faults.
        data_dir: folder that keeps objects beyond the process.
        fsync: if true, objects also survive a power failure.
        rbac: if true, Roles and their bindings decide what users may do; otherwise all
        users may do everything.
        users: further users with their tokens.
        services: addresses of webhooks' Services, as {"namespace/name": "host:port"}.
        control_token: token for `/_control/`; "" closes the path.

        Raises DataFolderError.
        """
        self.clock = ShiftedClock(clock or SystemClock())
        self.faults = KubeFaults(self.clock)
        self.journal: list[journal.Served] = []
        self._journal_lock = threading.Lock()
        self._measures = Measures(self.object_counts)
        self._services = Services(dict(services or {}))
        self._data_dir = None if data_dir is None else Path(data_dir)
        self._fsync = fsync
        self._restarting = threading.Lock()
        self._closing = threading.Event()
        self._has_rbac = rbac
        self._storage = self._stored()
        identity = self._identity(token or "")
        self._token = identity.token
        self.ca_pem: bytes = identity.authority.pem
        self._users = Users([(self._token, ADMIN), *users])
        self._control = KubeControl(self, control_token)
        self._certificate = identity.authority.issue(["127.0.0.1", "localhost"])
        try:
            self._build()
            self._server = self._listening(port)
        except BaseException:
            self._storage.close()
            raise

    @property
    def url(self) -> str:
        """Return `https://127.0.0.1:PORT`, which kubeconfigs contain."""
        return self._server.url

    @property
    def port(self) -> int:
        """Return the port. It stays the same over `restart`."""
        return self._server.port

    def route_service(self, service: ObjectKey, address: str) -> None:
        """Send calls of a webhook's Service to an address, `127.0.0.1:9443`."""
        self._services.addresses[str(service)] = address

    def start(self) -> None:
        """Accept connections, on threads of the server. Returns at once."""
        self._server.start()

    def close(self) -> None:
        """Stop. Held requests are released, watches end, connections are cut."""
        self._closing.set()
        self.faults.release_all()
        with self._restarting:
            self._storage.close()
            self._server.close()
            self._services.close()

    def restart(self, outage_seconds: float = 0.0) -> None:
        """Stop and start again at the same address. Blocking; measured by the server's
        clock.

        All connections are cut. The contents of a data folder are read again; without
        one, the objects stay. Watches from before get 410, as after a real restart.
        """
        with self._restarting:
            if self._closing.is_set():
                return
            port = self._server.port
            if self._data_dir is None:
                self._storage.cut_watches()
            else:
                self._storage.close()
            self._server.close()
            self.clock.wait(self._closing, outage_seconds)
            if self._data_dir is None:
                self._storage.compact()
            else:
                self._storage = self._stored()
                self._build()
            self._server = self._listening(port)
            self._server.start()

    @property
    def token(self) -> str:
        """Return the administrator's bearer token. Setting another one revokes it."""
        return self._token

    @token.setter
    def token(self, token: str) -> None:
        self._users.rotate(self._token, token)
        self._token = token

    def add_user(self, user: User, token: str = "") -> str:
        """Add a user; return the user's token, which is new by default."""
        return self._users.add(user, token)

    def add_service_account(self, namespace: str, name: str) -> str:
        """Return a token for a service account, whether or not the object exists."""
        return self.add_user(service_account(namespace, name))

    def kubeconfig(self, token: str = "") -> JsonObject:
        """Return a kubeconfig with one context, for the namespace `default`.

        token: the user's token; by default the administrator's.
        """
        return kubeconfigs.kubeconfig(self.url, self.ca_pem, token or self.token)

    def kubeconfig_text(self, token: str = "") -> str:
        """Return the kubeconfig as YAML.

        token: the user's token; by default the administrator's.
        """
        return kubeconfigs.text(self.kubeconfig(token))

    def write_kubeconfig(self, path: str | Path, token: str = "") -> None:
        """Write a kubeconfig that only its owner can read, because it contains the
        token.
        """
        kubeconfigs.write(path, self.kubeconfig_text(token))

    def object_counts(self) -> Mapping[str, int]:
        """Return the number of stored objects, by `plural.group`."""
        # of the present storage, because a restart makes another one
        return self._storage.counts()

    def cut_watches(self) -> None:
        """Break the connections of all watches."""
        self._storage.cut_watches()

    def forget_changes(self) -> None:
        """Make watches from any earlier version answer 410."""
        self._storage.compact()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Block all reads and writes during a `with` block."""
        with self._storage.lock:
            yield

    def _stored(self) -> Storage:
        if self._data_dir is None:
            return Storage()
        return Storage(folder=DataFolder(self._data_dir, fsync=self._fsync))

    def _identity(self, token: str) -> Identity:
        fresh = secrets.token_urlsafe(24)
        if self._data_dir is None:
            return Identity(certificate_authority(), token or fresh)
        return kept(self._data_dir, token=token, fresh=fresh)

    def _listening(self, port: int) -> HttpsServer:
        return HttpsServer(self._serve, certificate=self._certificate, port=port)

    def _build(self) -> None:
        """Make the parts that answer requests, for the present storage."""
        self._access = AccessControl(
            self._storage, self._users, self.clock, rbac=self._has_rbac
        )
        self._api = Api(self._storage, self.clock, self._access, self._services)
        begin(self._api.kinds, self._api.writes, self._storage, rbac=self._has_rbac)

    def _serve(self, request: HttpRequest) -> HttpResponse:
        if is_control(request):
            return self._control.handle(request)
        user = self._access.user_of(request)
        response = self.faults.around(request, lambda r: self._answer(r, user))
        name = "" if user is None else user.name
        name = request.headers.get("impersonate-user", name)
        entry = journal.entry(request, status=response.status, user=name)
        with self._journal_lock:
            self.journal.append(entry)
            self._measures.count(entry)
        return compressed(response, request.headers.get("accept-encoding", ""))

    def _answer(self, request: HttpRequest, user: User | None) -> HttpResponse:
        try:
            user = self._access.acting(request, user)
            self._access.check(request, user)
            self.faults.check_writable(request)
        except StatusError as error:
            return refusal(error)
        if request.path == "/metrics" and request.method == "GET":
            return self._measures.answer()
        return self._api.handle(request, user or ADMIN)
