"""A Microsoft Graph over TLS, for groups: tokens of its own audience, and its faults.

    with ArmServer() as azure:
        azure.graph.groups()      # what there is
        azure.graph.faults        # what goes wrong

Part of the simulated Azure, whose applications sign in for both.
"""

import threading
from collections.abc import Callable

from asoreconcile.clock import Clock
from asoreconcile.objects import JsonObject
from asoreconcile.testing.arm.entra import Grant
from asoreconcile.testing.graph.answers import GraphRefusal
from asoreconcile.testing.graph.directory import Directory, Group
from asoreconcile.testing.graph.faults import GraphFaults
from asoreconcile.testing.graph.service import GraphService
from asoreconcile.testing.http import HttpRequest, HttpResponse, HttpsServer, Server

GLOBAL_AUDIENCE = "https://graph.microsoft.com"


class GraphServer(Server):
    """One tenant's directory. Safe from any thread."""

    def __init__(
        self,
        *,
        certificate: tuple[bytes, bytes],
        clock: Clock,
        grant: Callable[[HttpRequest], Grant | None],
        tenant_id: str,
        knows: Callable[[str], bool] = lambda _: False,
        note: Callable[[HttpRequest, int], None] = lambda *_: None,
        port: int = 0,
        page_size: int = 0,
    ) -> None:
        """grant: what the token of a request stands for. knows: whether an id is one
        of a managed identity. note: journals an answered request; status 0 for none.
        page_size: entries on a page of a list at most.
        """
        self.faults = GraphFaults()
        self._clock = clock
        self._grant = grant
        self._note = note
        self._tenant_id = tenant_id.lower()
        self._lock = threading.RLock()
        self._denied: set[str] = set()
        self._directory = Directory(clock, knows=knows)
        self._service = GraphService(self._directory, page_size=page_size)
        self._server = HttpsServer(self._serve, certificate=certificate, port=port)
        self._service.url = self.url

    @property
    def url(self) -> str:
        """`https://127.0.0.1:PORT`, without a version."""
        return self._server.url

    @property
    def audiences(self) -> frozenset[str]:
        """Those of tokens that it takes."""
        return frozenset({GLOBAL_AUDIENCE, self.url.lower()})

    def start(self) -> None:
        """Start serving, on threads of its own; returns at once."""
        self._server.start()

    def close(self) -> None:
        """Let go of requests that a fault holds, then stop."""
        self.faults.release_all()
        self._server.close()

    def groups(self) -> dict[str, JsonObject]:
        """All groups by id, each with its `members` and `owners`, seen or not yet."""
        with self._lock:
            return {g.id: _whole(g) for g in self._directory.all_groups()}

    def id_of(self, path: str) -> str:
        """The id of the group whose `uniqueName` a path has; "" for none."""
        with self._lock:
            for group in self._directory.all_groups():
                if f"'{group.properties['uniqueName']}'" in path:
                    return group.id
        return ""

    def seed(self, **properties: object) -> str:
        """Let there be a group, as somebody else would have made it; its id.

        What a creation has to say is made of the display name where it is not given.
        """
        name = str(properties["displayName"])
        body = {
            "mailNickname": "".join(c for c in name.lower() if c.isalnum()),
            "mailEnabled": False,
            "securityEnabled": True,
            **properties,
        }
        with self._lock:
            group = self._directory.create(body)
            group.visible_at = self._clock.monotonic()
            return group.id

    def change(self, group_id: str, **properties: object) -> None:
        """Change a group, as somebody else would."""
        with self._lock:
            self._found(group_id).properties.update(properties)

    def remove(self, group_id: str) -> None:
        """Take a group away, as somebody else would."""
        with self._lock:
            self._directory.delete(self._found(group_id))

    def add_object(self, object_id: str = "") -> str:
        """Let there be a user or service principal; its id."""
        with self._lock:
            return self._directory.add_object(object_id)

    def link(self, group_id: str, link: str, object_id: str) -> None:
        """Put a member or owner in, as somebody else would."""
        with self._lock:
            group = self._found(group_id)
            ids = group.members if link == "members" else group.owners
            ids.append(self._directory.add_object(object_id))

    def lag(self, seconds: float) -> None:
        """Let groups that are made from now on be seen so much later only."""
        with self._lock:
            self._directory.lag_seconds = seconds

    def deny(self, client_id: str) -> None:
        """Refuse all that an application asks, as one without permissions is."""
        with self._lock:
            self._denied.add(client_id.lower())

    def allow(self, client_id: str) -> None:
        """Let it ask again."""
        with self._lock:
            self._denied.discard(client_id.lower())

    def _found(self, group_id: str) -> Group:
        for group in self._directory.all_groups():
            if group.id == group_id:
                return group
        raise KeyError(group_id)

    def _serve(self, request: HttpRequest) -> HttpResponse:
        status = 0
        try:
            response = self.faults.around(request, self._answer)
            status = response.status
        finally:
            self._note(request, status)
        return response

    def _answer(self, request: HttpRequest) -> HttpResponse:
        try:
            with self._lock:
                self._admit(request)
                return self._service.handle(request)
        except GraphRefusal as refusal:
            id_ = request.headers.get("client-request-id", "")
            return refusal.response(self._clock.now(), id_)

    def _admit(self, request: HttpRequest) -> None:
        """Raises GraphRefusal 401 for a token of another audience or tenant, 403."""
        grant = self._grant(request)
        if grant is None:
            raise _unauthenticated("Access token is empty, invalid or expired.")
        if grant.audience not in self.audiences:
            raise _unauthenticated("Access token validation failure. Invalid audience.")
        if grant.tenant_id != self._tenant_id:
            raise _unauthenticated("Access token validation failure. Invalid tenant.")
        if grant.client_id.lower() in self._denied:
            raise GraphRefusal(
                403,
                "Authorization_RequestDenied",
                "Insufficient privileges to complete the operation.",
            )


def _unauthenticated(message: str) -> GraphRefusal:
    return GraphRefusal(
        401,
        "InvalidAuthenticationToken",
        message,
        headers={"WWW-Authenticate": 'Bearer realm=""'},
    )


def _whole(group: Group) -> JsonObject:
    return {
        **group.properties,
        "members": list(group.members),
        "owners": list(group.owners),
    }
