"""The tasks of an import: to read a resource, or to list some. Pure values."""

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.ids import ArmId
from asoreconcile.azure.catalogue.kinds import KindVersion


@attrs.frozen
class ResourceTask:
    """A resource to read. expected: somebody named it, so that it must be there."""

    id: ArmId
    version: KindVersion
    expected: bool = False

    @property
    def owner_id(self) -> str:
        """Return the id of the owner, or "" for a resource without an owner."""
        if self.version.scope in ("Location", "Tenant") or self.id.parent is None:
            return ""
        return self.id.parent.text

    @property
    def key(self) -> str:
        """The id without its case: two tasks with one key are the same work (I2)."""
        return ids.key(self.id.text)

    @property
    def root_id(self) -> str:
        """The id that an import has to be given to do this, too: its owner's where
        nobody has said that the resource is there.
        """
        is_guess = bool(self.version.fixed_name) and not self.expected
        return self.owner_id if is_guess and self.owner_id else self.id.text


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

    @property
    def root_id(self) -> str:
        """Return the id of the resource below which the list is."""
        if self.version.scope == "Extension":
            return self.path.rpartition("/providers/")[0]
        return self.path.rpartition("/")[0]


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

    @property
    def root_id(self) -> str:
        """Return the id of the group."""
        return self.id


Task = ResourceTask | ListTask | GroupTask
