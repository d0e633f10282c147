"""Where lists for the syncs of many come from: ARM's own, or Resource Graph.

Both answer pages of bodies; what an entry may be taken for is `collection_reads`' to
say. Rules: Q3, Q6, Q9.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

import attrs

from asoreconcile.arm.collections import CollectionAddress, collection_of
from asoreconcile.objects import JsonObject


class BulkReader(Protocol):
    """Asks Azure, one request a call or page (`arm.client.ArmClient`)."""

    def pages(self, path: str, api_version: str) -> Iterator[list[JsonObject]]:
        """A list's pages, as the iteration gets there. Blocks; raises ArmError."""

    def query(
        self, path: str, api_version: str, body: JsonObject
    ) -> tuple[JsonObject, Mapping[str, str]]:
        """What a POST that changes nothing is answered, and the answer's headers."""


@attrs.frozen
class Wanted:
    """A list that is asked for. credential: whose. groups: the only resource groups
    that matter, by name in lower case; none is all.
    """

    address: CollectionAddress
    api_version: str
    credential: str = ""
    groups: frozenset[str] = frozenset()


class BulkSource(Protocol):
    """One kind of lists. Safe from any thread.

    name: for the log, in the plural. lag_seconds: for so long it may show what was
    there before. can_narrow: `Wanted.groups` makes a list shorter.
    """

    name: str
    lag_seconds: float
    can_narrow: bool

    def address(self, arm_id: str) -> CollectionAddress | None:
        """The list that a resource is in; None where there is none to rely on. Pure."""

    def pages(self, client: BulkReader, wanted: Wanted) -> Iterator[list[JsonObject]]:
        """Its entries. Blocks, a request a page; raises ArmError and its relatives, and
        NotAnsweredError where another source shall be asked.
        """


class ArmLists:
    """Lists of one type in a group or below a parent, as ARM shows them now (Q3)."""

    name = "Lists"
    lag_seconds = 0.0
    can_narrow = False

    def address(self, arm_id: str) -> CollectionAddress | None:
        """As `collection_of`."""
        return collection_of(arm_id)

    def pages(self, client: BulkReader, wanted: Wanted) -> Iterator[list[JsonObject]]:
        """As `ArmClient.pages`."""
        return client.pages(wanted.address.path, wanted.api_version)
