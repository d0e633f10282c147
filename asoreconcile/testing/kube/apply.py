"""Server-side apply: each manager owns the fields it applied.

Fields that a manager applied before and leaves out now go, unless another manager owns
them too; a field that another manager applied with another value is a conflict, unless
forced. Lists are owned as a whole, but for those that the schema keys by name. Owners
are kept in `metadata.managedFields`, in the API's FieldsV1 form.
"""

from collections.abc import Iterator
from typing import Any

from asoreconcile.objects import JsonObject, copy_json, metadata
from asoreconcile.testing.kube.patches import merge
from asoreconcile.testing.kube.status import StatusError

Path = tuple[str, ...]
_DEEP = 99
_UNOWNED = {
    ("apiVersion",),
    ("kind",),
    ("metadata", "name"),
    ("metadata", "namespace"),
    ("metadata", "uid"),
    ("metadata", "resourceVersion"),
    ("metadata", "managedFields"),
    ("metadata", "creationTimestamp"),
    ("metadata", "generation"),
}


def applied(
    live: JsonObject | None,
    configuration: JsonObject,
    *,
    manager: str,
    api_version: str,
    force: bool,
    now: str,
    depth: int = _DEEP,
) -> JsonObject:
    """The object after an apply. Raises StatusError 409 on conflicts.

    depth: below it an object counts as one field; CRDs have thousands of leaves.
    """
    mine = set(_leaves(configuration, depth)) - _UNOWNED
    base = copy_json(live) if live is not None else {}
    entries = _entries(base)
    previous = next((e for e in entries if _is_apply_of(e, manager)), None)
    _refuse_conflicts(base, configuration, mine, entries, manager, force=force)
    if force:
        for entry in entries:
            if entry is not previous:
                _set_paths(entry, _paths(entry) - mine)
    others = {path for e in entries if e is not previous for path in _paths(e)}
    dropped = (_paths(previous) if previous else set()) - mine - others
    for path in dropped:
        _remove(base, path)
    result: JsonObject = merge(base, configuration)
    kept = [e for e in entries if e is not previous and _paths(e)]
    kept.append(_entry(manager, "Apply", api_version, mine, now))
    metadata(result)["managedFields"] = kept
    return result


def updated(
    before: JsonObject | None,
    after: JsonObject,
    *,
    manager: str,
    api_version: str,
    subresource: str,
    now: str,
    depth: int = _DEEP,
) -> None:
    """Note, in `after`, that a manager changed fields by create, update or patch."""
    old = set(_leaves(before, depth)) if before is not None else set()
    new = set(_leaves(after, depth)) - _UNOWNED
    changed = {
        path
        for path in new
        if path not in old or _get(before or {}, path) != _get(after, path)
    }
    entries = _entries(before or after)
    if not changed:
        if before is not None and "managedFields" in metadata(before):
            metadata(after)["managedFields"] = entries
        return
    kept: list[JsonObject] = []
    own = set(changed)
    for entry in entries:
        updates = entry.get("manager") == manager and entry["operation"] == "Update"
        if updates and (entry.get("subresource") or "") == subresource:
            own |= _paths(entry) & new
            continue
        _set_paths(entry, (_paths(entry) - changed) & new)
        if _paths(entry):
            kept.append(entry)
    entry = _entry(manager, "Update", api_version, own, now)
    if subresource:
        entry["subresource"] = subresource
    metadata(after)["managedFields"] = [*kept, entry]


def _refuse_conflicts(
    live: JsonObject,
    configuration: JsonObject,
    mine: set[Path],
    entries: list[JsonObject],
    manager: str,
    *,
    force: bool,
) -> None:
    if force:
        return
    causes: list[tuple[str, Path]] = []
    for entry in entries:
        if _is_apply_of(entry, manager):
            continue
        causes.extend(
            (str(entry.get("manager")), path)
            for path in sorted(_paths(entry) & mine)
            if _get(live, path) != _get(configuration, path)
        )
    if not causes:
        return
    fields = [
        {
            "reason": "FieldManagerConflict",
            "message": f'conflict with "{owner}"',
            "field": "." + ".".join(path),
        }
        for owner, path in causes
    ]
    raise StatusError(
        409,
        "Conflict",
        f"Apply failed with {len(causes)} conflict(s): "
        + ", ".join(f'"{owner}": .{".".join(path)}' for owner, path in causes),
        details={"causes": fields},
    )


def _leaves(value: Any, depth: int, path: Path = ()) -> Iterator[Path]:
    if path == ("metadata", "managedFields"):
        return
    if isinstance(value, dict) and value and len(path) < depth:
        for key, inner in value.items():
            yield from _leaves(inner, depth, (*path, key))
    elif path:
        yield path


def _entries(obj: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = copy_json(metadata(obj).get("managedFields") or [])
    return found


def _is_apply_of(entry: JsonObject, manager: str) -> bool:
    return entry.get("manager") == manager and entry.get("operation") == "Apply"


def _entry(
    manager: str, operation: str, api_version: str, paths: set[Path], now: str
) -> JsonObject:
    entry: JsonObject = {
        "manager": manager,
        "operation": operation,
        "apiVersion": api_version,
        "time": now,
        "fieldsType": "FieldsV1",
    }
    _set_paths(entry, paths)
    return entry


def _set_paths(entry: JsonObject, paths: set[Path]) -> None:
    tree: JsonObject = {}
    for path in sorted(paths):
        node = tree
        for part in path:
            node = node.setdefault(f"f:{part}", {})
    entry["fieldsV1"] = tree


def _paths(entry: JsonObject) -> set[Path]:
    def walk(tree: JsonObject, path: Path) -> Iterator[Path]:
        for key, inner in tree.items():
            here = (*path, key.removeprefix("f:"))
            if inner:
                yield from walk(inner, here)
            else:
                yield here

    return set(walk(entry.get("fieldsV1") or {}, ()))


def _get(value: Any, path: Path) -> Any:
    for part in path:
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


def _remove(document: JsonObject, path: Path) -> None:
    """Remove a leaf, and the parents that it leaves empty."""
    parents: list[tuple[JsonObject, str]] = []
    node: Any = document
    for part in path[:-1]:
        if not isinstance(node, dict) or part not in node:
            return
        parents.append((node, part))
        node = node[part]
    if isinstance(node, dict):
        node.pop(path[-1], None)
    for parent, part in reversed(parents):
        if parent[part] == {} and part != "metadata":
            del parent[part]
