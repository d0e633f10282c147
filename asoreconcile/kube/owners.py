"""Owner references: which object another one belongs to, and goes away with. Pure."""

from asoreconcile.objects import (
    JsonObject,
    gvk_of,
    key_of,
    metadata,
    owner_references,
    uid_of,
)


class AlreadyOwnedError(ValueError):
    """Another object is the controller already."""


def owner_reference(
    owner: JsonObject, *, controller: bool = True, block_deletion: bool = False
) -> JsonObject:
    """A reference to an owner as the server answered it: with kind, name and uid.

    controller: the one owner that manages the object, which `owns()` wakes; at most
    one is. block_deletion: a foreground deletion of the owner waits for the object.
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
    # Only where asked for: the server wants the right to update the owner's
    # finalizers of who sets it.
    if block_deletion:
        reference["blockOwnerDeletion"] = True
    return reference


def set_owner(
    obj: JsonObject,
    owner: JsonObject,
    *,
    controller: bool = True,
    block_deletion: bool = False,
) -> bool:
    """Make an object one of an owner's; whether that changed the object.

    controller: as its manager, to which `owns()` brings the object's events; False for
    one of several owners that it only goes away with.
    A reference to the owner that is there is brought up to date. Raises
    AlreadyOwnedError if it has another controller, ValueError if the owner is in
    another namespace: the server would delete the object as an orphan.
    """
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
    # The server refuses a second one too, without a word on who is the first.
    if controller and manager is not None:
        raise AlreadyOwnedError(
            f"{key_of(obj)} is controlled by {manager.get('kind')} "
            f"{manager.get('name')} already"
        )
    # In its place: a list in another order would be a write for nothing. And once: of
    # an owner that was made again, the list may name the former one too.
    at = next((i for i, one in enumerate(present) if _same(one, reference)), None)
    ahead = len(present) if at is None else at
    wanted = [*others[:ahead], reference, *others[ahead:]]
    if wanted == present:
        return False
    obj.setdefault("metadata", {})["ownerReferences"] = wanted
    return True


def remove_owner(obj: JsonObject, owner: JsonObject) -> bool:
    """Take an owner away; whether that changed the object."""
    present = owner_references(obj)
    reference = owner_reference(owner)
    kept = [one for one in present if not _same(one, reference)]
    if len(kept) == len(present):
        return False
    metadata(obj)["ownerReferences"] = kept
    return True


def controller_of(obj: JsonObject) -> JsonObject | None:
    """The reference to the owner that manages an object, if one does."""
    return next((one for one in owner_references(obj) if one.get("controller")), None)


def is_controlled_by(obj: JsonObject, owner: JsonObject) -> bool:
    """Whether an object is managed by that owner: by uid, names are used again."""
    manager = controller_of(obj)
    return manager is not None and manager.get("uid") == uid_of(owner) != ""


def _same(one: JsonObject, other: JsonObject) -> bool:
    """Whether two references name one object; the version does not matter."""
    # Not by uid: of an owner that was made again the old reference is to be replaced.
    return all(
        (
            gvk_of(one).group_kind == gvk_of(other).group_kind,
            one.get("name") == other.get("name"),
        )
    )
