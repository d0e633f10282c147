"""Deletion protection: objects whose resources the operator never deletes. Pure.

The annotation is a switch on the object or on its Namespace (`switches`). Rule: OW-4.
"""

from collections.abc import Mapping, Sequence

from asoreconcile.azure.reconcile.model.annotation_row import Annotation, Whose, choice
from asoreconcile.azure.reconcile.model.annotations import DELETION_PROTECTION
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.policy import LET_GO
from asoreconcile.azure.reconcile.model.switches import Switch, switched_by
from asoreconcile.base.printable import listed

PROTECTED = "DeletionProtected"
"""The reason of the condition of an object whose deletion is held."""

_SHOWN = 5


def _matter(text: str, deleting: bool) -> bool:
    """Return the part of the switch whose change needs a reconcile: none while the
    object is not being deleted.
    """
    return deleting and text not in {"", Switch.OFF.value}


DELETION_PROTECTION_ROW: Annotation[Switch] = Annotation(
    DELETION_PROTECTION,
    says="the resource is never deleted in Azure",
    values="`true`",
    section="#keep-a-resource-from-being-deleted",
    effect="the resource is protected",
    parse=choice(Switch),
    whose=Whose.EITHER,
    if_wrong=Switch.ON,
    default=Switch.OFF,
    in_deletion=True,
    matter=_matter,
    wakes_containers=True,
)


def why_held(own: Mapping[str, str], inherited: Mapping[str, str]) -> str:
    """Return why an object's resource is protected from deletion and how to lift the
    protection, or "".
    """
    switch = switched_by(own, inherited, DELETION_PROTECTION_ROW)
    if not switch:
        return ""
    return (
        f"nothing is deleted in Azure: {switch} protects the resource. To delete the "
        f"resource, remove that annotation. {LET_GO}"
    )


def why_held_by(protected: Sequence[ObjectReference]) -> str:
    """Return why a resource is not deleted if it contains resources of protected
    objects.
    """
    return (
        "nothing is deleted in Azure: this resource is, or contains, that of "
        f"{names_of(protected)}, which {DELETION_PROTECTION} protects. Delete "
        f"or release those objects first. {LET_GO}"
    )


def names_of(nodes: Sequence[ObjectReference]) -> str:
    """Return the kinds and names of the first objects, and the number of the others."""
    return listed(sorted(map(str, nodes)), _SHOWN)
