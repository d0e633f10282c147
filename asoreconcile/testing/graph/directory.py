"""The groups of a tenant with their members and owners, as Microsoft Graph keeps them.

A new group exists at once for a client that creates the group again. Readers see it
after `lag_seconds`, because Graph's readers are replicas.
"""

import uuid
from collections.abc import Callable, Iterator
from typing import Literal

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.graph.answers import bad_request, not_found
from asoreconcile.testing.graph.properties import (
    IMMUTABLE,
    check_created,
    check_updated,
    new_group,
)

GroupRelation = Literal["members", "owners"]
DirectoryType = Literal["device", "group", "servicePrincipal", "user"]
MOST_AT_ONCE = 20


@attrs.define
class Group:
    """A group.

    properties: all properties, as Graph shows them.
    visible_at: time on the server's clock from which readers see the group, in seconds.
    """

    properties: JsonObject
    visible_at: float
    members: list[str] = attrs.field(factory=list)
    owners: list[str] = attrs.field(factory=list)

    @property
    def id(self) -> str:
        """Return the group's id, a UUID, by which other objects refer to it."""
        return str(self.properties["id"])

    def linked(self, link: GroupRelation) -> list[str]:
        """Return the ids of the members or owners: the list itself, not a copy."""
        return self.members if link == "members" else self.owners


class Directory:
    """The groups of one tenant. The caller holds the server's lock."""

    def __init__(self, clock: Clock, *, knows: Callable[[str], bool]) -> None:
        """Make an empty directory.

        knows: returns whether an id belongs to an identity elsewhere in the simulator.
        """
        self.lag_seconds = 0.0
        self._clock = clock
        self._knows = knows
        self._groups: dict[str, Group] = {}
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
        if object_id in self._groups:
            return "group"
        return self._objects.get(object_id, "servicePrincipal")

    def groups(self) -> Iterator[Group]:
        """Yield the groups that readers can see now."""
        now = self._clock.monotonic()
        return (g for g in self._groups.values() if g.visible_at <= now)

    def all_groups(self) -> list[Group]:
        """Return all groups, including those that readers cannot see yet."""
        return list(self._groups.values())

    def find(self, id_: str) -> Group:
        """Return the group with that id.

        Raises GraphRefusal 404, also while readers cannot see the group yet.
        """
        for group in self.groups():
            if group.id == id_.lower():
                return group
        raise not_found(id_)

    def named(self, unique_name: str, *, as_writer: bool = False) -> Group | None:
        """Return the group with that unique name, or None.

        as_writer: if true, also find a group that readers cannot see yet.
        """
        groups = self._groups.values() if as_writer else self.groups()
        for group in groups:
            if group.properties["uniqueName"] == unique_name:
                return group
        return None

    def create(self, body: JsonObject, *, unique_name: str | None = None) -> Group:
        """Create a group. Raises GraphRefusal 400, 404."""
        check_created(body)
        links = {link: self._bound(body, link) for link in ("members", "owners")}
        if sum(map(len, links.values())) > MOST_AT_ONCE:
            raise bad_request(f"At most {MOST_AT_ONCE} relationships can be added.")
        properties = new_group(body, unique_name=unique_name, now=self._clock.now())
        group = Group(
            properties,
            self._clock.monotonic() + self.lag_seconds,
            members=links["members"],
            owners=links["owners"],
        )
        self._groups[group.id] = group
        return group

    def update(self, group: Group, body: JsonObject) -> None:
        """Change properties of a group. Raises GraphRefusal 400, 404."""
        added = self._bound(body, "members")
        if len(added) > MOST_AT_ONCE:
            raise bad_request(f"At most {MOST_AT_ONCE} members can be added.")
        if set(added) & set(group.members):
            raise _there_already("members")
        changes = {n: v for n, v in body.items() if "@odata" not in n}
        check_updated(group.properties, changes)
        group.properties.update(
            {n: v for n, v in changes.items() if n not in IMMUTABLE}
        )
        group.members += added

    def delete(self, group: Group) -> None:
        """Delete a group, and remove it from the lists of all other groups."""
        del self._groups[group.id]
        for other in self._groups.values():
            for ids in (other.members, other.owners):
                if group.id in ids:
                    ids.remove(group.id)

    def add(self, group: Group, link: GroupRelation, reference: str) -> None:
        """Add the referenced object to the members or owners. Raises GraphRefusal 400,
        404.
        """
        object_id = self._referred(reference)
        if object_id in group.linked(link):
            raise _there_already(link)
        group.linked(link).append(object_id)

    def take_out(self, group: Group, link: GroupRelation, object_id: str) -> None:
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
        if object_id in self._groups or object_id in self._objects:
            return object_id
        if self._knows(object_id):
            return object_id
        raise not_found(object_id)


def _there_already(link: str) -> Exception:
    return bad_request(
        "One or more added object references already exist for the following modified "
        f"properties: '{link}'."
    )
