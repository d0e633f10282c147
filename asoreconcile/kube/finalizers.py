"""Finalizers: names that keep a deleted object until each is removed. Pure."""

from asoreconcile.base.objects import (
    AnyObject,
    JsonObject,
    change_in_place,
    finalizers,
    is_deleting,
    metadata,
    spec,
)


def has_finalizer(obj: AnyObject, name: str) -> bool:
    """Return whether the object has this finalizer."""
    return name in finalizers(obj)


def add_finalizer(obj: AnyObject, name: str) -> bool:
    """Add a finalizer to an object, a dict or one of a class; returns whether that
    changed it.

    name: `domain/what`, such as `example.com/release-disk`. The server refuses new
    finalizers once the object is being deleted. Raises ValueError for a name without a
    domain, which the server refuses for its own kinds.
    """
    if not isinstance(obj, dict):
        return change_in_place(add_finalizer, obj, name)
    if not all(name.partition("/")):
        raise ValueError(
            f"{name!r} is no finalizer: give a domain and a purpose, such as "
            "example.com/release-disk"
        )
    present = finalizers(obj)
    if name in present:
        return False
    obj.setdefault("metadata", {})["finalizers"] = [*present, name]
    return True


def remove_finalizer(obj: AnyObject, name: str) -> bool:
    """Remove a finalizer from an object, a dict or one of a class; returns whether
    that changed it.
    """
    if not isinstance(obj, dict):
        return change_in_place(remove_finalizer, obj, name)
    present = finalizers(obj)
    if name not in present:
        return False
    metadata(obj)["finalizers"] = [one for one in present if one != name]
    return True


def is_held(obj: JsonObject) -> bool:
    """Return whether finalizers or a grace period keep an object after its deletion."""
    if finalizers(obj) or spec(obj).get("finalizers"):  # the latter of a namespace
        return True
    return is_deleting(obj) and bool(metadata(obj).get("deletionGracePeriodSeconds"))


def has_ended(answer: JsonObject) -> bool:
    """Return whether the response of a write shows the object's end: deletion was
    requested, and nothing holds the object any more.

    The server deletes the object with that write, and returns an earlier resource
    version.
    """
    return is_deleting(answer) and not is_held(answer)
