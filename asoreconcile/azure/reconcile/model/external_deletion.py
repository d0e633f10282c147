"""Detects that a PUT has created a removed resource again. Pure.

Azure sends no notice when a resource is removed, or moved to another group, which
changes its id. The old id answers 404, and the next PUT creates a new resource there.
ASO does the same; here the person on call can at least see it. Rule: I6.

    a read before the PUT found nothing       it was removed
    creation marks before and after differ    it was removed and created again
    no creation mark, and the PUT says 201    it was removed, if the provider uses 201
                                              for new resources only
"""

from datetime import UTC, datetime

from asoreconcile.azure.catalogue.type_facts import facts_of
from asoreconcile.azure.reconcile.model.first_creation import was_there
from asoreconcile.base.objects import JsonObject, dig

RECREATED = "AzureResourceRecreated"

# Birth marks: values in the status that are constant for the life of a resource.
_MOMENTS = (
    "systemData.createdAt",
    "createdAt",
    "createdDate",
    "createdOn",
    "creationDate",
    "creationTime",
    "timeCreated",
)
_NAMES = ("resourceGuid",)
# Two api-versions write the same time with and without fractions of a second.
_SAME_MOMENT_SECONDS = 60.0


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
    return is_absent or (is_new and not _has_birth_mark(before))


def is_another(before: JsonObject, after: JsonObject) -> bool:
    """Return whether two statuses are of two successive resources with the same id."""
    for path in _NAMES:
        old, new = dig(before, path), dig(after, path)
        if old and new:
            return str(old).lower() != str(new).lower()
    for path in _MOMENTS:
        then, now = _moment(before, path), _moment(after, path)
        if then is not None and now is not None:
            return abs((now - then).total_seconds()) > _SAME_MOMENT_SECONDS
    return False


def is_born_since(status: JsonObject, at: str) -> bool:
    """Return whether a status says that its resource was made at a time or later; false
    if the status does not say when.
    """
    then = _moment({"at": at}, "at")
    born = next((one for path in _MOMENTS if (one := _moment(status, path))), None)
    return born is not None and then is not None and born >= then


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


def _has_birth_mark(status: JsonObject) -> bool:
    if any(dig(status, path) for path in _NAMES):
        return True
    return any(_moment(status, path) is not None for path in _MOMENTS)


def _moment(status: JsonObject, path: str) -> datetime | None:
    text = dig(status, path)
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    if moment is None or moment.tzinfo is not None:
        return moment
    return moment.replace(tzinfo=UTC)
