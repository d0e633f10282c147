"""Sources of lists for bulk syncs: ARM itself, or Azure Resource Graph.

Both answer pages of bodies. `collection_reads` decides what an entry may be used for.
Rules: Q3, Q6, Q9.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

import attrs

from asoreconcile.azure.arm.collections import CollectionAddress, collection_of
from asoreconcile.base.objects import JsonObject


class BulkReader(Protocol):
    """Reads from Azure, one request a call or page (`arm.client.ArmClient`)."""

    def pages(self, path: str, api_version: str) -> Iterator[list[JsonObject]]:
        """A list's pages, as the iteration gets there. Blocks; raises ArmError."""

    def query(
        self, path: str, api_version: str, body: JsonObject
    ) -> tuple[JsonObject, Mapping[str, str]]:
        """Send a POST that only reads; its answer, and the answer's headers."""


@attrs.frozen
class Wanted:
    """A requested list. credential: the one to read with. groups: the only resource
    groups needed, by name in lower case; none is all.
    """

    address: CollectionAddress
    api_version: str
    credential: str = ""
    groups: frozenset[str] = frozenset()


class BulkSource(Protocol):
    """One kind of lists. Safe from any thread.

    name: for the log, in the plural. lag_seconds: how old its data may be. can_narrow:
    whether `Wanted.groups` makes a list shorter.
    """

    name: str
    lag_seconds: float
    can_narrow: bool

    def address(self, arm_id: str) -> CollectionAddress | None:
        """The list that contains a resource; None if there is no reliable one. Pure."""

    def pages(self, client: BulkReader, wanted: Wanted) -> Iterator[list[JsonObject]]:
        """The list's entries. Blocks, a request a page; raises as `ArmClient.pages`,
        and NotAnsweredError if another source must be used.
        """


class ArmLists:
    """Lists of one type in a group or below a parent, as ARM shows them now (Q3)."""

    name = "Lists"
    lag_seconds = 0.0
    can_narrow = False

    def address(self, arm_id: str) -> CollectionAddress | None:
        """Return the list that contains a resource; see `collection_of`."""
        return collection_of(arm_id)

    def pages(self, client: BulkReader, wanted: Wanted) -> Iterator[list[JsonObject]]:
        """Yield the pages of a list; see `ArmClient.pages`."""
        return client.pages(wanted.address.path, wanted.api_version)
