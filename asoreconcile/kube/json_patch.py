"""The JSON Patch (RFC 6902) between two states of a document. Pure."""

from typing import Any

from asoreconcile.base.objects import JsonObject


def changes(before: JsonObject, after: JsonObject) -> list[JsonObject]:
    """Return the operations that turn `before` into `after`; empty if they are equal.

    Lists are compared by index: items are added and removed only at the end.
    """
    operations: list[JsonObject] = []
    _compare(before, after, "", operations)
    return operations


def _compare(before: Any, after: Any, path: str, into: list[JsonObject]) -> None:
    if _same(before, after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        _compare_objects(before, after, path, into)
    elif isinstance(before, list) and isinstance(after, list):
        _compare_lists(before, after, path, into)
    else:
        into.append({"op": "replace", "path": path, "value": after})


def _compare_objects(
    before: JsonObject, after: JsonObject, path: str, into: list[JsonObject]
) -> None:
    for name, value in before.items():
        place = f"{path}/{_escaped(name)}"
        if name in after:
            _compare(value, after[name], place, into)
        else:
            into.append({"op": "remove", "path": place})
    for name, value in after.items():
        if name not in before:
            place = f"{path}/{_escaped(name)}"
            into.append({"op": "add", "path": place, "value": value})


def _compare_lists(
    before: list[Any], after: list[Any], path: str, into: list[JsonObject]
) -> None:
    for index, (old, new) in enumerate(zip(before, after, strict=False)):
        _compare(old, new, f"{path}/{index}", into)
    # From the end, so that a removal does not shift later ones.
    into.extend(
        {"op": "remove", "path": f"{path}/{index}"}
        for index in range(len(before) - 1, len(after) - 1, -1)
    )
    into.extend(
        {"op": "add", "path": f"{path}/-", "value": value}
        for value in after[len(before) :]
    )


def _same(before: Any, after: Any) -> bool:
    """Return whether two values are equal as JSON. Python treats 1, 1.0 and True as
    equal, JSON does not.
    """
    if isinstance(before, dict | list):
        return False
    return type(before) is type(after) and bool(before == after)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
