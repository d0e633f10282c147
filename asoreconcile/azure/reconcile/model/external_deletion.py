"""Detects that a PUT has created a removed resource again. Pure.

Azure sends no notice when a resource is removed, or moved to another group, which
changes its id. The old id answers 404, and the next PUT creates a new resource there.
ASO does the same; here the person on call can at least see it. Rule: I6.

    a read before the PUT found nothing       it was removed
    creation marks before and after differ    it was removed and created again
    no creation mark, and the PUT says 201    it was removed, if the provider uses 201
                                              for new resources only
"""

from asoreconcile.azure.catalogue.type_facts import facts_of
from asoreconcile.azure.reconcile.model.birth import has_birth_mark
from asoreconcile.azure.reconcile.model.first_creation import was_there
from asoreconcile.base.objects import JsonObject

RECREATED = "AzureResourceRecreated"


def is_recreated(
    before: JsonObject, *, arm_type: str, is_absent: bool, created: bool
) -> bool:
    """Return whether an accepted PUT has recreated a resource that existed before.

    before: the object's status from before the PUT. is_absent: whether a read before
    the PUT found no resource. created: whether the answer to the PUT was 201.
    """
    if not was_there(before):
        return False
    is_new = created and facts_of(arm_type.partition("/")[0]).created_is_new
    return is_absent or (is_new and not has_birth_mark(before))


def what_to_do(arm_id: str) -> str:
    """Return the message of the event `AzureResourceRecreated`, which says what
    happened, and gives advice.
    """
    return (
        f'"{arm_id}" was there before, was gone from Azure, and is made again. If it '
        "was moved to another resource group, the moved one is left alone from now on, "
        "and this object stands for the one made again. To follow the move, delete "
        "this object, which deletes what was made again (unless its reconcile-policy "
        "is detach-on-delete), and apply it anew with spec.owner naming the new group. "
        "Before the next move, set reconcile-policy to skip: then nothing is made again"
    )
