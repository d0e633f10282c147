"""JSON merge patches (RFC 7386): the smallest one between two documents. Pure."""

from typing import Any

import attrs

from asoreconcile.base import jsontext
from asoreconcile.base.jsontext import DeepJson
from asoreconcile.base.objects import JsonObject


def merge_patch(before: JsonObject, after: JsonObject) -> JsonObject | None:
    """Return the patch from `before` to `after`, or None if they are equal.

    A null in `after` counts as absent, as the API server stores it. Nested objects are
    patched at any depth; all other values are replaced as a whole.
    """
    change: JsonObject = {}
    pairs = [_Pair(before, after, change, {}, "")]
    for pair in pairs:  # grows on the way: each pair of objects inside is one more
        pair.compare(pairs)
    for pair in reversed(pairs):
        if not pair.change:
            pair.holder.pop(pair.name, None)
    return change or None


@attrs.frozen
class _Pair:
    """Two values at the same place of two objects. holder, name: the part of the patch
    for their change, and its key there.
    """

    before: JsonObject
    after: JsonObject
    change: JsonObject
    holder: JsonObject
    name: str

    def compare(self, further: "list[_Pair]") -> None:
        change = self.change
        for key, old in self.before.items():
            new = self.after.get(key)
            if new is None:
                if old is not None:
                    change[key] = None
            elif _are_objects(old, new):
                nested: JsonObject = {}
                change[key] = nested
                one, other = _opened(old), _opened(new)
                further.append(_Pair(one, other, nested, change, key))
            elif _differs(old, new):
                change[key] = new
        for key, new in self.after.items():
            if new is not None and key not in self.before:
                change[key] = new


def _are_objects(old: Any, new: Any) -> bool:
    """Return whether there may be a difference inside of two objects."""
    if isinstance(old, DeepJson) or isinstance(new, DeepJson):
        return old != new and all(isinstance(_opened(v), dict) for v in (old, new))
    return isinstance(old, dict) and isinstance(new, dict)


def _opened(value: Any) -> Any:
    return value.opened() if isinstance(value, DeepJson) else value


def apply_merge_patch(document: Any, patch: Any) -> Any:
    """Return the document after a merge patch; neither argument is changed."""
    holder: JsonObject = {}
    todo: list[tuple[JsonObject, str, Any, Any]] = [(holder, "", document, patch)]
    is_deep = False
    for into, name, old, given in todo:  # grows on the way
        is_deep |= isinstance(given, DeepJson)
        change = _opened(given)
        if not isinstance(change, dict):
            into[name] = given
            continue
        before = _opened(old)
        into[name] = merged = dict(before) if isinstance(before, dict) else {}
        for key, value in change.items():
            if value is None:
                merged.pop(key, None)
            else:
                todo.append((merged, key, merged.get(key), value))
    made = holder[""]
    return jsontext.settled(made) if is_deep else made


def _differs(old: Any, new: Any) -> bool:
    # 1 == True and 1 == 1.0 in Python; in JSON only the latter pair is equal.
    if isinstance(old, bool) or isinstance(new, bool):
        return old is not new
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return any(_differs(a, b) for a, b in zip(old, new, strict=True))
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() != new.keys() or any(_differs(old[k], new[k]) for k in old)
    return bool(old != new)
