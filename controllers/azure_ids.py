"""The index of cached objects by Azure id, which finds two objects with one id.

Claimed objects are indexed by their id, others by their Azure name: their id depends on
their owner, and few stay unclaimed for long.
"""

from collections.abc import Iterable

from asoreconcile.azure.arm import ids
from asoreconcile.azure.catalogue.conversion import KindConversionError
from asoreconcile.azure.catalogue.names import azure_name
from asoreconcile.azure.catalogue.storage_codec import StorageCodec
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.informer import Informer

_INDEX = "azure-id"


def index_azure_ids(informer: Informer, form: StorageCodec) -> None:
    """Add an index by Azure id to a kind's cache."""

    def values(entry: Entry) -> Iterable[str]:
        claimed = entry.annotations.get(RESOURCE_ID)
        if claimed:
            return (ids.key(claimed),)
        try:
            obj = form.read(entry.shared_view())
        except KindConversionError:
            return ()  # its own reconcile reports the error
        version = form.version(obj)
        name = azure_name(version, obj) if version.is_arm else ""
        return (_unclaimed(name),) if name else ()

    informer.add_index(_INDEX, values)


def with_id(informer: Informer, arm_id: str) -> set[ObjectKey]:
    """The objects claimed for an id, and unclaimed ones with its name."""
    name = arm_id.rpartition("/")[2]
    found = informer.by_index(_INDEX, ids.key(arm_id))
    return {*found, *informer.by_index(_INDEX, _unclaimed(name))}


def _unclaimed(name: str) -> str:
    return f"unclaimed {name.lower()}"
