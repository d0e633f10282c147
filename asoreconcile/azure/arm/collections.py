"""Finds the list that contains a resource: the list of its type in its group, or below
its parent.

Pure. Rule: Q3.
"""

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.ids import ArmIdError


@attrs.frozen
class CollectionAddress:
    """One list of Azure: its path, and the ARM type of its entries in lower case."""

    path: str
    arm_type: str


def collection_of(arm_id: str) -> CollectionAddress | None:
    """Return the list that contains a resource, or None if no list is reliable.

    A list at another resource's scope also contains inherited resources, and a resource
    outside any group has no list.
    """
    try:
        parsed = ids.parse(arm_id)
    except ArmIdError:
        return None
    arm_type = parsed.type.lower()
    if ids.is_resource_group(parsed):
        return CollectionAddress(f"{parsed.scope}/resourcegroups", arm_type)
    try:
        is_in_group = ids.is_resource_group(ids.parse(parsed.scope))
    except ArmIdError:
        return None
    if not is_in_group:
        return None
    path, _, name = parsed.text.rpartition("/")
    return CollectionAddress(path, arm_type) if name else None
