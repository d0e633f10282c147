"""Owner references: the object that another belongs to and is deleted with. Pure."""

from asoreconcile.base.objects import (
    AnyObject,
    JsonObject,
    change_in_place,
    gvk_of,
    key_of,
    metadata,
    owner_references,
    uid_of,
)


class AlreadyOwnedError(ValueError):
    """Another object is the controller already."""


def owner_reference(
    owner: AnyObject, *, controller: bool = True, block_deletion: bool = False
) -> JsonObject:
    """Return an owner reference to an object read from the server, with kind, name and
    uid.

    controller: True for the
    one managing owner, which `owns()` enqueues; an object has at most one.
    block_deletion: a foreground deletion of the owner waits for the object.
    """
    kind = gvk_of(owner)
    reference: JsonObject = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": key_of(owner).name,
        "uid": uid_of(owner),
    }
    if not (reference["name"] and reference["uid"] and kind.kind):
        raise ValueError("an owner needs kind, name and uid: is it from the server?")
    if controller:
        reference["controller"] = True
    # Only on request: the server requires permission to update the owner's finalizers.
    if block_deletion:
        reference["blockOwnerDeletion"] = True
    return reference


def set_owner(
    obj: AnyObject,
    owner: AnyObject,
    *,
    controller: bool = True,
    block_deletion: bool = False,
) -> bool:
    """Set an owner reference on an object, a dict or one of a class; returns whether
    that changed the object.

    controller: True makes the owner the controller, which `owns()` enqueues; False adds
    one of several owners, only for garbage collection.
    An existing reference to the owner is updated. Raises AlreadyOwnedError if the
    object has another controller, ValueError if the owner is in another namespace: the
    server would delete the object as an orphan.
    """
    if not isinstance(obj, dict):
        options = {"controller": controller, "block_deletion": block_deletion}
        return change_in_place(set_owner, obj, owner, **options)
    owner_namespace, namespace = key_of(owner).namespace, key_of(obj).namespace
    # An owner without a namespace may own objects in any.
    if owner_namespace and owner_namespace != namespace:
        raise ValueError(f"{key_of(owner)} cannot own an object in {namespace!r}")
    reference = owner_reference(
        owner, controller=controller, block_deletion=block_deletion
    )
    present = owner_references(obj)
    others = [one for one in present if not _same(one, reference)]
    manager = next((one for one in others if one.get("controller")), None)
    # The server refuses a second controller too, without naming the first.
    if controller and manager is not None:
        raise AlreadyOwnedError(
            f"{key_of(obj)} is controlled by {manager.get('kind')} "
            f"{manager.get('name')} already"
        )
    # In its place: a changed order would be a needless write. And once: for a recreated
    # owner the list may also have the former reference.
    at = next((i for i, one in enumerate(present) if _same(one, reference)), None)
    ahead = len(present) if at is None else at
    wanted = [*others[:ahead], reference, *others[ahead:]]
    if wanted == present:
        return False
    obj.setdefault("metadata", {})["ownerReferences"] = wanted
    return True


def remove_owner(obj: AnyObject, owner: AnyObject) -> bool:
    """Remove an owner reference; returns whether that changed the object."""
    if not isinstance(obj, dict):
        return change_in_place(remove_owner, obj, owner)
    present = owner_references(obj)
    reference = owner_reference(owner)
    kept = [one for one in present if not _same(one, reference)]
    if len(kept) == len(present):
        return False
    metadata(obj)["ownerReferences"] = kept
    return True


def controller_of(obj: AnyObject) -> JsonObject | None:
    """Return the controller reference of an object, or None."""
    return next((one for one in owner_references(obj) if one.get("controller")), None)


def is_controlled_by(obj: AnyObject, owner: AnyObject) -> bool:
    """Return whether an owner is the object's controller. Uids are compared, because
    names are reused.
    """
    manager = controller_of(obj)
    return manager is not None and manager.get("uid") == uid_of(owner) != ""


def _same(one: JsonObject, other: JsonObject) -> bool:
    """Return whether two references name one object; the version does not matter."""
    # Not by uid: the old reference to a recreated owner must be replaced.
    return all(
        (
            gvk_of(one).group_kind == gvk_of(other).group_kind,
            one.get("name") == other.get("name"),
        )
    )
