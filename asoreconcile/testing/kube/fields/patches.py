"""JSON merge patches, JSON patches and strategic merge patches. Pure.

Raises StatusError 422 for a JSON patch that does not apply.
"""

from collections.abc import Sequence
from typing import Any

from asoreconcile.base.objects import JsonObject, copy_json
from asoreconcile.testing.kube.fields.fieldsets import member
from asoreconcile.testing.kube.wire import deepjson
from asoreconcile.testing.kube.wire.status import StatusError, bad_request

# In these lists of built-in kinds, strategic merge matches items by a key instead of
# replacing the list.
_MERGE_KEYS = {
    "ownerReferences": "uid",
    "secrets": "name",
    "imagePullSecrets": "name",
    "conditions": "type",
}
# The ports of a container and of a Service have different keys.
_PORTS, _PORT_KEYS = "ports", ("containerPort", "port")
_MERGED_SETS = {"finalizers"}
# These lists have their keys by name, whatever a kind's schema says of metadata.
_OF_ALL = ("metadata", "ownerReferences", "finalizers")


def merge(document: Any, patch: Any) -> Any:
    """Return the document after a JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def strategic(
    document: Any, patch: Any, field: str = "", schema: JsonObject | None = None
) -> Any:
    """Return the document after a strategic merge patch.

    schema: says which lists are merged, by which key. Without one, the needs of the
    other built-in kinds decide.
    """
    typed = None if field in _OF_ALL else schema
    if isinstance(patch, list) and isinstance(document, list):
        if typed is not None:
            return _typed_list(document, patch, typed)
        if field in _MERGED_SETS:
            return [*document, *(item for item in patch if item not in document)]
        key = _port_key(patch) if field == _PORTS else _MERGE_KEYS.get(field)
        return _joined(document, patch, key) if key else patch
    if not isinstance(patch, dict):
        return patch
    if patch.get("$patch") == "replace":
        return {name: value for name, value in patch.items() if name != "$patch"}
    merged = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if name.startswith("$"):
            _directive(merged, name, value)
        elif value is None:
            merged.pop(name, None)
        else:
            part = None if typed is None or name in _OF_ALL else member(typed, name)
            merged[name] = strategic(merged.get(name), value, name, part)
    return merged


def _typed_list(document: list[Any], patch: list[Any], schema: JsonObject) -> list[Any]:
    is_merged = "merge" in str(schema.get("x-kubernetes-patch-strategy") or "")
    if not is_merged or {"$patch": "replace"} in patch:
        return [item for item in patch if item != {"$patch": "replace"}]
    if key := schema.get("x-kubernetes-patch-merge-key"):
        return _joined(document, patch, key, schema.get("items") or {})
    return [*document, *(item for item in patch if item not in document)]


def _port_key(ports: list[Any]) -> str | None:
    items = [port for port in ports if isinstance(port, dict)]
    return next((key for key in _PORT_KEYS if any(key in i for i in items)), None)


def _directive(merged: JsonObject, name: str, value: Any) -> None:
    target = name.partition("/")[2]
    if name.startswith("$deleteFromPrimitiveList/"):
        merged[target] = [item for item in merged.get(target, []) if item not in value]
    elif name == "$retainKeys":
        for key in merged.keys() - set(value):
            del merged[key]


def _joined(
    document: list[Any], patch: list[Any], key: str, items: JsonObject | None = None
) -> list[Any]:
    joined = list(document)
    if not all(isinstance(item, dict) for item in (*document, *patch)):
        raise bad_request("error decoding patch: an item of a keyed list is no object")
    for item in patch:
        same = [i for i, old in enumerate(joined) if old.get(key) == item.get(key)]
        if item.get("$patch") == "delete":
            joined = [old for i, old in enumerate(joined) if i not in same]
        elif same:
            joined[same[0]] = strategic(joined[same[0]], item, "", items)
        else:
            joined.append(item)
    return joined


def json_patch(document: JsonObject, operations: Sequence[JsonObject]) -> Any:
    """Return the document after a JSON Patch (RFC 6902). The arguments do
    not change.
    """
    result: Any = copy_json(document)
    for operation in operations:
        result = deepjson.settled(_operate(result, operation))
    return result


def _operate(document: Any, operation: JsonObject) -> Any:
    op, path = operation.get("op"), str(operation.get("path", ""))
    try:
        match op:
            case "add":
                return _set(document, path, copy_json(operation["value"]), insert=True)
            case "remove":
                return _remove(document, path)
            case "replace":
                _get(document, path)
                return _set(document, path, copy_json(operation["value"]), insert=False)
            case "move":
                value = _get(document, str(operation["from"]))
                moved = _remove(document, str(operation["from"]))
                return _set(moved, path, value, insert=True)
            case "copy":
                value = copy_json(_get(document, str(operation["from"])))
                return _set(document, path, value, insert=True)
            case "test":
                if _get(document, path) != operation.get("value"):
                    raise _refused()
                return document
            case _:
                raise _refused()
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise _refused() from error


def _steps(path: str) -> list[str]:
    if path == "":
        return []
    if not path.startswith("/"):
        raise ValueError("a path begins with /")
    return [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]


def _get(document: Any, path: str) -> Any:
    for step in _steps(path):
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def _set(document: Any, path: str, value: Any, *, insert: bool) -> Any:
    steps = _steps(path)
    if not steps:
        return value
    parent = _get(document, "".join("/" + _escaped(s) for s in steps[:-1]))
    last = steps[-1]
    if isinstance(parent, list):
        index = len(parent) if last == "-" else int(last)
        if insert:
            if index > len(parent):
                raise IndexError("past the end of the list")
            parent.insert(index, value)
        else:
            parent[index] = value
    else:
        parent[last] = value
    return document


def _remove(document: Any, path: str) -> Any:
    steps = _steps(path)
    parent = _get(document, "".join("/" + _escaped(s) for s in steps[:-1]))
    if isinstance(parent, list):
        del parent[int(steps[-1])]
    else:
        del parent[steps[-1]]
    return document


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


def _refused() -> StatusError:
    return StatusError(
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
        details={},
    )
