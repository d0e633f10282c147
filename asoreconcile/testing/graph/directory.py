"""The groups, applications and service principals of a tenant, as Microsoft Graph keeps
them, and the members and owners of groups.

A new object exists at once for a client that creates it again. Readers see it
after `lag_seconds`, because Graph's readers are replicas.
"""

import uuid
from collections.abc import Callable, Iterator
from typing import Literal

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.graph.answers import GraphRefusal, bad_request, not_found
from asoreconcile.testing.graph.properties import (
    IMMUTABLE,
    Collection,
    check_created,
    check_updated,
    new_group,
    new_other,
    patched,
)

GroupRelation = Literal["members", "owners"]
DirectoryType = Literal["device", "group", "servicePrincipal", "user"]
MOST_AT_ONCE = 20


@attrs.define
class DirectoryEntry:
    """A group, an application or a service principal.

    properties: all properties, as Graph shows them.
    visible_at: time on the server's clock from which readers see the group, in seconds.
    """

    properties: JsonObject
    visible_at: float
    collection: Collection
    members: list[str] = attrs.field(factory=list)
    owners: list[str] = attrs.field(factory=list)

    @property
    def id(self) -> str:
        """Return the id, a UUID, by which other objects refer to this one."""
        return str(self.properties["id"])

    def linked(self, link: GroupRelation) -> list[str]:
        """Return the ids of the members or owners: the list itself, not a copy."""
        return self.members if link == "members" else self.owners


class Directory:
    """The objects of one tenant. The caller holds the server's lock."""

    def __init__(self, clock: Clock, *, knows: Callable[[str], bool]) -> None:
        """Make an empty directory.

        knows: returns whether an id belongs to an identity elsewhere in the simulator.
        """
        self.lag_seconds = 0.0
        self._clock = clock
        self._knows = knows
        self._entries: dict[str, DirectoryEntry] = {}
        self._deleted: dict[str, DirectoryEntry] = {}
        self._objects: dict[str, DirectoryType] = {}

    def add_object(self, object_id: str, type_: DirectoryType = "user") -> str:
        """Add an object other than a group; return its id.

        object_id: if it is empty, an id is made up.
        """
        made = (object_id or str(uuid.uuid4())).lower()
        self._objects.setdefault(made, type_)
        return made

    def type_of(self, object_id: str) -> DirectoryType:
        """Return the type of an object that exists."""
        if object_id in self._entries:
            return "group"
        return self._objects.get(object_id, "servicePrincipal")

    def visible(self, collection: Collection) -> Iterator[DirectoryEntry]:
        """Yield the objects of a collection that readers can see now."""
        now = self._clock.monotonic()
        return (e for e in self.all_of(collection) if e.visible_at <= now)

    def all_of(self, collection: Collection) -> list[DirectoryEntry]:
        """Return all objects of a collection, including those that readers cannot see
        yet.
        """
        return [e for e in self._entries.values() if e.collection == collection]

    def deleted(self) -> list[DirectoryEntry]:
        """Return the applications and service principals that can be restored."""
        return list(self._deleted.values())

    def find(self, collection: Collection, id_: str) -> DirectoryEntry:
        """Return the object with that id.

        Raises GraphRefusal 404, also while readers cannot see the object yet.
        """
        for entry in self.visible(collection):
            if entry.id == id_.lower():
                return entry
        raise not_found(id_)

    def keyed(
        self, collection: Collection, key: str, value: str, *, as_writer: bool = False
    ) -> DirectoryEntry | None:
        """Return the object with that value of a key, or None.

        as_writer: if true, also find an object that readers cannot see yet.
        """
        found = self.all_of(collection) if as_writer else self.visible(collection)
        for entry in found:
            if entry.properties[key] == value:
                return entry
        return None

    def create(
        self,
        body: JsonObject,
        *,
        collection: Collection = "groups",
        unique_name: str | None = None,
    ) -> DirectoryEntry:
        """Create an object. Raises GraphRefusal 400, 404, 409."""
        check_created(collection, body)
        links = {link: self._bound(body, link) for link in ("members", "owners")}
        if sum(map(len, links.values())) > MOST_AT_ONCE:
            raise bad_request(f"At most {MOST_AT_ONCE} relationships can be added.")
        if collection == "groups":
            now = self._clock.now()
            properties = new_group(body, unique_name=unique_name, now=now)
        else:
            if collection == "servicePrincipals":
                body = self._of_an_application(body)
            self._require_free_uris(body)
            properties = new_other(collection, body, unique_name=unique_name)
        entry = DirectoryEntry(
            properties,
            self._clock.monotonic() + self.lag_seconds,
            collection,
            members=links["members"],
            owners=links["owners"],
        )
        self._entries[entry.id] = entry
        return entry

    def update(self, entry: DirectoryEntry, body: JsonObject) -> None:
        """Change properties of an object. Raises GraphRefusal 400, 404, 409."""
        added = self._bound(body, "members")
        if len(added) > MOST_AT_ONCE:
            raise bad_request(f"At most {MOST_AT_ONCE} members can be added.")
        if set(added) & set(entry.members):
            raise _there_already("members")
        changes = {n: v for n, v in body.items() if "@odata" not in n}
        check_updated(entry.collection, entry.properties, changes)
        self._require_free_uris(changes, but=entry)
        changes = {n: v for n, v in changes.items() if n not in IMMUTABLE}
        entry.properties = patched(entry.properties, changes)
        entry.members += added

    def delete(self, entry: DirectoryEntry) -> None:
        """Delete an object, and remove it from the lists of all groups.

        An application takes its service principal with it; both can be restored.
        """
        del self._entries[entry.id]
        if entry.collection != "groups":
            self._deleted[entry.id] = entry
        if entry.collection == "applications":
            for other in self.all_of("servicePrincipals"):
                if other.properties["appId"] == entry.properties["appId"]:
                    self.delete(other)
        for other in self._entries.values():
            for ids in (other.members, other.owners):
                if entry.id in ids:
                    ids.remove(entry.id)

    def _of_an_application(self, body: JsonObject) -> JsonObject:
        """Return the body of a new service principal with the application's name.

        Raises GraphRefusal 400 if readers know no such application (yet), and 409 if it
        has a service principal.
        """
        app_id = str(body["appId"]).lower()
        application = self.keyed("applications", "appId", app_id)
        if application is None:
            raise bad_request(
                f"The appId '{app_id}' of the service principal does not reference a "
                "valid application object."
            )
        if self.keyed("servicePrincipals", "appId", app_id, as_writer=True):
            raise _taken(
                "The service principal cannot be created, updated, or restored because "
                f"the service principal name {app_id} is already in use."
            )
        name = application.properties["displayName"]
        return {"displayName": name, **body, "appId": app_id}

    def _require_free_uris(
        self, body: JsonObject, *, but: DirectoryEntry | None = None
    ) -> None:
        wanted = set(body.get("identifierUris") or ())
        for other in self.all_of("applications"):
            if other is not but and wanted & set(other.properties["identifierUris"]):
                raise _taken(
                    "Another object with the same value for property identifierUris "
                    "already exists."
                )

    def add(self, group: DirectoryEntry, link: GroupRelation, reference: str) -> None:
        """Add the referenced object to the members or owners. Raises GraphRefusal 400,
        404.
        """
        object_id = self._referred(reference)
        if object_id in group.linked(link):
            raise _there_already(link)
        group.linked(link).append(object_id)

    def take_out(
        self, group: DirectoryEntry, link: GroupRelation, object_id: str
    ) -> None:
        """Remove an object from the members or owners. Raises GraphRefusal 400, 404."""
        ids = group.linked(link)
        if object_id.lower() not in ids:
            raise not_found(object_id)
        if link == "owners" and len(ids) == 1:
            raise bad_request(
                "The group must have at least one owner, hence this owner cannot be "
                "removed."
            )
        ids.remove(object_id.lower())

    def _bound(self, body: JsonObject, link: str) -> list[str]:
        references = body.get(f"{link}@odata.bind") or []
        if len(set(references)) != len(references):
            raise bad_request("A reference is given twice.")
        return [self._referred(str(reference)) for reference in references]

    def _referred(self, reference: str) -> str:
        """Return the id of the object that a URL names."""
        head, _, object_id = reference.rpartition("/")
        object_id = object_id.lower()
        if not head.startswith("https://") or "/v1.0/" not in f"{head}/":
            raise bad_request("Invalid URL format specified in payload.")
        if object_id in self._entries or object_id in self._objects:
            return object_id
        if self._knows(object_id):
            return object_id
        raise not_found(object_id)


def _taken(message: str) -> Exception:
    return GraphRefusal(409, "Request_MultipleObjectsWithSameKeyValue", message)


def _there_already(link: str) -> Exception:
    return bad_request(
        "One or more added object references already exist for the following modified "
        f"properties: '{link}'."
    )
