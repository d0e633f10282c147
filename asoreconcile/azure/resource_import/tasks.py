"""What an import has to do: read a resource, or list some. Pure values."""

import attrs

from asoreconcile.arm import ids
from asoreconcile.arm.ids import ArmId
from asoreconcile.catalogue.kinds import KindVersion


@attrs.frozen
class ResourceTask:
    """A resource to read. expected: somebody named it, so that it must be there."""

    id: ArmId
    version: KindVersion
    expected: bool = False

    @property
    def owner_id(self) -> str:
        """Of the resource that it hangs off; "" for one without an owner."""
        if self.version.scope in ("Location", "Tenant") or self.id.parent is None:
            return ""
        return self.id.parent.text

    @property
    def key(self) -> str:
        """The id without its case: two tasks with one key are the same work (I2)."""
        return ids.key(self.id.text)


@attrs.frozen
class ListTask:
    """A collection to list. path: as ARM has it; version: of what it holds."""

    path: str
    version: KindVersion

    @property
    def key(self) -> str:
        """By the path without its case; apart from the task that reads a resource
        there.
        """
        return f"list {ids.key(self.path)}"


@attrs.frozen
class GroupTask:
    """A resource group whose resources are to be listed. id: its ARM id."""

    id: str

    @property
    def key(self) -> str:
        """By the id without its case; apart from the task that reads the group
        itself.
        """
        return f"group {ids.key(self.id)}"


Task = ResourceTask | ListTask | GroupTask
