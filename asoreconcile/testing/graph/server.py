"""A simulated Microsoft Graph over TLS, for groups, applications and service
principals. It takes tokens of its own audience.

    with ArmServer() as azure:
        azure.graph.groups()      # the groups that exist
        azure.graph.faults        # planned faults

The server is part of the simulated Azure; an application signs in for both.
"""

import threading
from collections.abc import Callable

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm.entra import Grant
from asoreconcile.testing.graph.answers import GraphRefusal
from asoreconcile.testing.graph.directory import (
    Directory,
    DirectoryEntry,
    DirectoryType,
)
from asoreconcile.testing.graph.faults import GraphFaults
from asoreconcile.testing.graph.properties import RESOURCES, Collection
from asoreconcile.testing.graph.service import GraphService
from asoreconcile.testing.http import HttpRequest, HttpResponse, HttpsServer, Server

GLOBAL_AUDIENCE = "https://graph.microsoft.com"


class GraphServer(Server):
    """The directory of one tenant. Safe to use from any thread."""

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
        """Make the server.

        grant: returns what the token of a request permits, or None.
        knows: returns whether an id belongs to a managed identity.
        note: writes an answered request to the journal; status 0 is a dropped
        connection.
        page_size: largest number of entries on a page of a list.
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
        """Return `https://127.0.0.1:PORT`, without an API version."""
        return self._server.url

    @property
    def audiences(self) -> frozenset[str]:
        """Return the audiences of the tokens that the server accepts."""
        return frozenset({GLOBAL_AUDIENCE, self.url.lower()})

    def start(self) -> None:
        """Start serving, on threads of the server. Returns at once."""
        self._server.start()

    def close(self) -> None:
        """Release the requests that a fault holds, then stop."""
        self.faults.release_all()
        self._server.close()

    def groups(self) -> dict[str, JsonObject]:
        """Return all groups by id, each with `members` and `owners`, visible or not
        yet.
        """
        with self._lock:
            return {e.id: _whole(e) for e in self._directory.all_of("groups")}

    def entries(self, collection: Collection) -> dict[str, JsonObject]:
        """Return all objects of a collection by id, visible or not yet."""
        with self._lock:
            return {
                e.id: dict(e.properties) for e in self._directory.all_of(collection)
            }

    def deleted(self) -> list[str]:
        """Return the ids of the applications and service principals that can be
        restored.
        """
        with self._lock:
            return [entry.id for entry in self._directory.deleted()]

    def id_of(self, path: str) -> str:
        """Return the id of the object whose `uniqueName` is in a path, or ""."""
        with self._lock:
            for of in ("groups", "applications"):
                for entry in self._directory.all_of(of):
                    if f"'{entry.properties['uniqueName']}'" in path:
                        return entry.id
        return ""

    def seed_in(self, collection: Collection, **properties: object) -> str:
        """Add an object to a collection as another client would have; return its id."""
        with self._lock:
            entry = self._directory.create(properties, collection=collection)
            entry.visible_at = self._clock.monotonic()
            return entry.id

    def seed(self, **properties: object) -> str:
        """Add a group as another client would have; return its id.

        Properties that a creation requires are derived from the display name if they
        are missing.
        """
        name = str(properties["displayName"])
        body = {
            "mailNickname": "".join(c for c in name.lower() if c.isalnum()),
            "mailEnabled": False,
            "securityEnabled": True,
            **properties,
        }
        return self.seed_in("groups", **body)

    def change(self, id_: str, **properties: object) -> None:
        """Change an object as another client would."""
        with self._lock:
            self._found(id_).properties.update(properties)

    def remove(self, id_: str) -> None:
        """Delete an object as another client would."""
        with self._lock:
            self._directory.delete(self._found(id_))

    def add_object(self, object_id: str = "", type_: DirectoryType = "user") -> str:
        """Add an object other than a group; return its id."""
        with self._lock:
            return self._directory.add_object(object_id, type_)

    def link(self, group_id: str, link: str, object_id: str) -> None:
        """Add a member or owner as another client would."""
        with self._lock:
            group = self._found(group_id)
            ids = group.members if link == "members" else group.owners
            ids.append(self._directory.add_object(object_id))

    def lag(self, seconds: float) -> None:
        """Make objects that are created from now on visible only after this delay."""
        with self._lock:
            self._directory.lag_seconds = seconds

    def deny(self, client_id: str) -> None:
        """Refuse all requests of an application, as if it had no permissions."""
        with self._lock:
            self._denied.add(client_id.lower())

    def allow(self, client_id: str) -> None:
        """Allow the requests of an application again."""
        with self._lock:
            self._denied.discard(client_id.lower())

    def _found(self, id_: str) -> DirectoryEntry:
        for of in RESOURCES:
            for entry in self._directory.all_of(of):
                if entry.id == id_:
                    return entry
        raise KeyError(id_)

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
        """Check the token of a request.

        Raises GraphRefusal 401 for a token of another audience or tenant, and 403.
        """
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


def _whole(group: DirectoryEntry) -> JsonObject:
    return {
        **group.properties,
        "members": list(group.members),
        "owners": list(group.owners),
    }
