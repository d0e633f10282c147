"""JSON merge patches (RFC 7386): the smallest one between two documents. Pure."""

from typing import Any

from asoreconcile.objects import JsonObject


def merge_patch(before: JsonObject, after: JsonObject) -> JsonObject | None:
    """What turns `before` into `after`, or None if nothing differs.

    A null in `after` counts as absent, as the API server stores it.
    """
    change: JsonObject = {}
    for key, old in before.items():
        new = after.get(key)
        if new is None:
            if old is not None:
                change[key] = None
        elif isinstance(old, dict) and isinstance(new, dict):
            nested = merge_patch(old, new)
            if nested is not None:
                change[key] = nested
        elif _differs(old, new):
            change[key] = new
    for key, new in after.items():
        if new is not None and key not in before:
            change[key] = new
    return change or None


def apply_merge_patch(document: Any, patch: Any) -> Any:
    """The document after a merge patch; neither argument is changed."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = apply_merge_patch(merged.get(key), value)
    return merged


def _differs(old: Any, new: Any) -> bool:
    # 1 == True and 1 == 1.0 in Python; in JSON only the latter pair is equal.
    if isinstance(old, bool) or isinstance(new, bool):
        return old is not new
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return any(_differs(a, b) for a, b in zip(old, new, strict=True))
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() != new.keys() or any(_differs(old[k], new[k]) for k in old)
    return bool(old != new)
