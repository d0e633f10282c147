"""The caches' index of objects by Azure id, so that two with one id are found.

Filed are the claimed under their id, the others under their Azure name: their id needs
their owner, and few are unclaimed for long.
"""

from collections.abc import Iterable

from asoreconcile.arm import ids
from asoreconcile.azure.annotations import RESOURCE_ID
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.informer import Informer
from asoreconcile.catalogue.conversion import KindConversionError
from asoreconcile.catalogue.names import azure_name
from asoreconcile.catalogue.storage_codec import StorageCodec
from asoreconcile.objects import ObjectKey

_INDEX = "azure-id"


def index_azure_ids(informer: Informer, form: StorageCodec) -> None:
    """Have a kind's cache find objects by the Azure id that they stand for."""

    def values(entry: Entry) -> Iterable[str]:
        claimed = entry.annotations.get(RESOURCE_ID)
        if claimed:
            return (ids.key(claimed),)
        try:
            obj = form.read(entry.peek())
        except KindConversionError:
            return ()  # its own reconcile says so
        version = form.version(obj)
        name = azure_name(version, obj) if version.is_arm else ""
        return (_unclaimed(name),) if name else ()

    informer.add_index(_INDEX, values)


def with_id(informer: Informer, arm_id: str) -> set[ObjectKey]:
    """The objects claimed for an id, and those unclaimed that are called so."""
    name = arm_id.rpartition("/")[2]
    found = informer.by_index(_INDEX, ids.key(arm_id))
    return {*found, *informer.by_index(_INDEX, _unclaimed(name))}


def _unclaimed(name: str) -> str:
    return f"unclaimed {name.lower()}"
