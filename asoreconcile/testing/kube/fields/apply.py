"""Server-side apply: each manager owns the fields that it applied. Pure.

If a manager leaves out a field that it applied before, the field is removed, unless
another manager owns it, too. If another manager owns a field with another value, there
is a conflict, unless the apply is forced. Owners are in `metadata.managedFields`, in
the API's FieldsV1 format.
"""

from typing import Any

import attrs
import orjson

from asoreconcile.base.objects import JsonObject, copy_json, metadata
from asoreconcile.testing.kube.fields.fieldsets import (
    FieldNode,
    FieldPath,
    laid_over,
    nodes,
    of_fields,
    shown,
    to_fields,
    without,
)
from asoreconcile.testing.kube.wire import deepjson
from asoreconcile.testing.kube.wire.status import StatusError

# kubectl is the only manager whose applies also keep the annotation of client-side
# apply up to date, because people switch between the two.
_KUBECTL = "kubectl"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_UNOWNED = {
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(
        ("f:metadata", f"f:{name}")
        for name in (
            "name",
            "namespace",
            "uid",
            "resourceVersion",
            "managedFields",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "generation",
            "generateName",
            "selfLink",
        )
    ),
}


@attrs.frozen
class FieldManager:
    """The writer, the kind of write, and the part of the object that it may write.

    schema: schema of the object; it says which lists have keys.
    fixed: objects that always exist, so creating them makes no owner.
    """

    manager: str
    api_version: str
    subresource: str
    now: str
    schema: JsonObject = attrs.field(repr=False)
    fixed: frozenset[FieldPath] = frozenset()
    empty: frozenset[FieldPath] = frozenset()

    def owns(self, path: FieldPath) -> bool:
        """Return whether a write through this endpoint can own a field."""
        if path in _UNOWNED:
            return False
        return not self.subresource or path[0] == f"f:{self.subresource}"


def applied(
    live: JsonObject | None, wanted: JsonObject, owner: FieldManager, *, force: bool
) -> JsonObject:
    """Return the object after an apply. Raises StatusError 409 on conflicts."""
    found = [n for n in nodes(wanted, owner.schema) if owner.owns(n.path)]
    mine = {n.path for n in found if n.is_applied}
    base: JsonObject = copy_json(live) if live is not None else {}
    entries = _entries(base)
    previous = next((e for e in entries if _is_apply_of(e, owner)), None)
    others = [entry for entry in entries if entry is not previous]
    over = laid_over(base, wanted, owner.schema)
    contested = _contested((base, over), found, others, owner)
    if contested and not force:
        raise _conflict(contested)
    for entry, paths in contested:
        _set_paths(entry, _paths(entry) - set(paths))
    # A field that another manager also owns stays: leaving it out only gives up this
    # manager's ownership.
    held = {path for entry in others for path in _paths(entry)} | mine
    dropped = (_paths(previous) if previous else set()) - held
    result = base
    # an item is removed before the key that names it
    for path in sorted(dropped, key=len):
        if not _is_key(path) and not any(other[: len(path)] == path for other in held):
            result = without(result, path, owner.schema)
    result = laid_over(result, wanted, owner.schema)
    made = _entry("Apply", mine, owner)
    if live is not None and _content(result) == _content(live):
        # If only the owners changed, the time stays as it is, or missing.
        made["time"] = (previous or {}).get("time")
        made = {name: value for name, value in made.items() if value is not None}
    kept = [entry for entry in others if _paths(entry)]
    metadata(result)["managedFields"] = _in_order([*kept, made])
    if owner.manager == _KUBECTL:
        _warn_client_side(result, wanted)
    return result


def _warn_client_side(obj: JsonObject, wanted: JsonObject) -> None:
    """Update the annotation of kubectl's client-side apply if the object has it."""
    if _LAST_APPLIED not in (metadata(obj).get("annotations") or {}):
        return
    meta = dict(metadata(wanted))
    notes = dict(meta.pop("annotations", None) or {})
    notes.pop(_LAST_APPLIED, None)
    if notes:
        meta["annotations"] = notes
    text = orjson.dumps({**wanted, "metadata": meta}, option=orjson.OPT_SORT_KEYS)
    meta = metadata(obj)
    meta["annotations"] = {**meta["annotations"], _LAST_APPLIED: f"{text.decode()}\n"}


def _is_key(path: FieldPath) -> bool:
    """Return whether a field is a key that identifies an item of a list."""
    item = path[-2] if len(path) > 1 else ""
    name = path[-1].removeprefix("f:")
    return item.startswith("k:") and name in orjson.loads(item.removeprefix("k:"))


def updated(before: JsonObject | None, after: JsonObject, owner: FieldManager) -> None:
    """Record in `after` that a manager changed fields by create, update or patch."""
    old = {n.path: n for n in nodes(before or {}, owner.schema)}
    new = {n.path: n for n in nodes(after, owner.schema)}
    changed = {
        path
        for path, node in new.items()
        if path not in _UNOWNED
        and path not in owner.fixed
        and not (path in owner.empty and node.value in (None, ""))
        and (path not in old or (node.is_leaf and node.value != old[path].value))
    }
    asked = metadata(after).get("managedFields")
    if before is not None and asked is not None and not any(asked):
        # `managedFields: [{}]` is the documented form. An empty list comes from a
        # client that does not know the field.
        entries: list[JsonObject] = []  # the client asks to forget all owners
    elif asked and not owner.subresource and _are_entries(asked):
        entries = _entries(after)  # the client sets the owners
    else:
        entries = _entries(before or {})
    kept: list[JsonObject] = []
    own = set(changed)
    for entry in entries:
        if _is_update_of(entry, owner):
            own |= _paths(entry) & new.keys()
            if not changed:
                kept.append(_narrowed(entry, own))
            continue
        entry = _narrowed(entry, (_paths(entry) - changed) & new.keys())  # noqa: PLW2901
        kept.append(entry)
    if changed:
        kept.append(_entry("Update", own, owner))
    kept = _in_order([entry for entry in kept if entry["fieldsV1"]])
    if kept:
        metadata(after)["managedFields"] = kept
    else:
        metadata(after).pop("managedFields", None)


def _are_entries(asked: list[Any]) -> bool:
    """Return whether these entries can be read: very deep fields are not
    stored whole.
    """
    return all(_is_entry(one) for one in asked) and not deepjson.is_deep(asked)


def _is_entry(one: Any) -> bool:
    return (
        isinstance(one, dict)
        and one.get("operation") in ("Apply", "Update")
        and one.get("fieldsType") == "FieldsV1"
        and isinstance(one.get("fieldsV1"), dict)
        and bool(one.get("apiVersion"))
    )


def _content(obj: JsonObject) -> JsonObject:
    meta = {n: v for n, v in metadata(obj).items() if n != "managedFields"}
    return {**obj, "metadata": meta}


def _contested(
    change: tuple[JsonObject, JsonObject],
    found: list[FieldNode],
    others: list[JsonObject],
    owner: FieldManager,
) -> list[tuple[JsonObject, list[FieldPath]]]:
    """Return, by other manager, the changed fields that it owns.

    change: the object before and after.
    """
    before, after = (
        {n.path: n.value for n in nodes(obj, owner.schema)} for obj in change
    )
    changing = {
        n.path
        for n in found
        if n.is_leaf and before.get(n.path) != after.get(n.path, n.value)
    }
    pairs = ((entry, sorted(_paths(entry) & changing)) for entry in others)
    return [(entry, paths) for entry, paths in pairs if paths]


def _conflict(contested: list[tuple[JsonObject, list[FieldPath]]]) -> StatusError:
    named = [(_described(entry), paths) for entry, paths in contested]
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {who}",
            "field": shown(path),
        }
        for who, paths in named
        for path in paths
    ]
    if len(causes) == 1:
        who, paths = named[0]
        # This is the server's exact wording, because users of kubectl and tests look
        # for it.
        text = f"1 conflict: conflict with {who}: {shown(paths[0])}"
    else:
        parts = (
            f"conflicts with {who}:" + "".join(f"\n- {shown(p)}" for p in paths)
            for who, paths in named
        )
        text = f"{len(causes)} conflicts: " + "\n".join(parts)
    return StatusError(
        409, "Conflict", f"Apply failed with {text}", details={"causes": causes}
    )


def _described(entry: JsonObject) -> str:
    text = f'"{entry.get("manager", "")}"'
    if entry.get("subresource"):
        text += f' with subresource "{entry["subresource"]}"'
    if entry.get("operation") == "Update":
        text += f" using {entry.get('apiVersion', '')}"
    return text


def _entries(obj: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = copy_json(metadata(obj).get("managedFields") or [])
    return found


def _is(entry: JsonObject, operation: str, owner: FieldManager) -> bool:
    return (
        entry.get("manager") == owner.manager
        and entry.get("operation") == operation
        and (entry.get("subresource") or "") == owner.subresource
    )


def _is_apply_of(entry: JsonObject, owner: FieldManager) -> bool:
    return _is(entry, "Apply", owner)


def _is_update_of(entry: JsonObject, owner: FieldManager) -> bool:
    # Fields are named as at the version in which they were written, so updates by
    # another version have an entry of their own.
    same = entry.get("apiVersion") == owner.api_version
    return same and _is(entry, "Update", owner)


def _entry(operation: str, paths: set[FieldPath], owner: FieldManager) -> JsonObject:
    entry: JsonObject = {
        "manager": owner.manager,
        "operation": operation,
        "apiVersion": owner.api_version,
        "time": owner.now,
        "fieldsType": "FieldsV1",
        "fieldsV1": to_fields(paths),
    }
    if owner.subresource:
        entry["subresource"] = owner.subresource
    return entry


def _narrowed(entry: JsonObject, paths: set[FieldPath]) -> JsonObject:
    if paths != _paths(entry):
        _set_paths(entry, paths)
    return entry


def _set_paths(entry: JsonObject, paths: set[FieldPath]) -> None:
    entry["fieldsV1"] = to_fields(paths)


def _paths(entry: JsonObject) -> set[FieldPath]:
    return set(of_fields(entry.get("fieldsV1") or {}))


def _in_order(entries: list[JsonObject]) -> list[JsonObject]:
    return sorted(
        entries,
        key=lambda e: (
            e.get("operation", ""),
            e.get("time", ""),
            e.get("manager", ""),
            e.get("subresource", ""),
        ),
    )
