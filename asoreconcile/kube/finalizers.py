"""Finalizers: names that keep a deleted object there until each is taken off. Pure."""

from asoreconcile.objects import JsonObject, finalizers, is_deleting, metadata, spec


def has_finalizer(obj: JsonObject, name: str) -> bool:
    """True if the object cannot go before this finalizer is taken off."""
    return name in finalizers(obj)


def add_finalizer(obj: JsonObject, name: str) -> bool:
    """Put a finalizer on an object; whether that changed it.

    name: `domain/what`, such as `example.com/release-disk`. The server refuses new
    ones once the object is being deleted.
    """
    present = finalizers(obj)
    if name in present:
        return False
    obj.setdefault("metadata", {})["finalizers"] = [*present, name]
    return True


def remove_finalizer(obj: JsonObject, name: str) -> bool:
    """Take a finalizer off an object; whether that changed it."""
    present = finalizers(obj)
    if name not in present:
        return False
    metadata(obj)["finalizers"] = [one for one in present if one != name]
    return True


def is_held(obj: JsonObject) -> bool:
    """Whether something keeps an object for a while once it is deleted."""
    if finalizers(obj) or spec(obj).get("finalizers"):  # a namespace's are there
        return True
    return is_deleting(obj) and bool(metadata(obj).get("deletionGracePeriodSeconds"))


def has_ended(answer: JsonObject) -> bool:
    """Whether the write that is answered so was the object's last: it was being
    deleted, and nothing holds it any more.

    The server ends it with that write, and answers with a resource version that it had
    before.
    """
    return is_deleting(answer) and not is_held(answer)
