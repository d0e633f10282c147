"""Compares the sides of an object: spec, Azure and the last PUT. Pure."""

from collections.abc import Iterator
from typing import Any

from asoreconcile.azure.catalogue.inputs import inputs_of, secret_texts
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.reconcile.model.normalization import is_same
from asoreconcile.azure.reconcile.planning.planned_change import PlannedChange
from asoreconcile.base.objects import JsonObject, spec, status
from asoreconcile.redaction import HIDDEN

# They are the operator's, not fields of the resource.
_OWN_FIELDS = ("azureName", "operatorSpec", "owner")


def spec_and_status(version: KindVersion, obj: JsonObject) -> list[JsonObject]:
    """Return a row for each field of the spec, with the same field of the status.

    The status has the values that the operator last read in Azure.
    """
    wanted = {k: v for k, v in spec(obj).items() if k not in _OWN_FIELDS}
    secret = {
        one.path.removeprefix("spec.") for one in secret_texts(version, spec(obj))
    }
    named = [one.path.removeprefix("spec.") for one in inputs_of(version, spec(obj))]
    shown = dict(_leaves(status(obj), "."))
    rows = []
    for path, value in _leaves(wanted, "."):
        if path in secret:
            rows.append({"path": path, "spec": HIDDEN, "azure": None, "differs": False})
            continue
        azure = shown.get(path)
        is_name = any(path.startswith(f"{one}.") for one in named)
        differs = azure is not None and not is_name and not is_same(value, azure)
        rows.append({"path": path, "spec": value, "azure": azure, "differs": differs})
    return rows


def three_sides(change: PlannedChange, last_put: Any) -> list[JsonObject]:
    """Return a row for each field of the body: the values of the three sides.

    change: the difference as `asoctl plan` finds it. last_put: None if there was none.
    """
    sent, azure, put = (
        dict(_leaves(side, "/")) for side in (change.sent, change.found, last_put)
    )
    rows = [
        {
            "path": one.path,
            "spec": one.want,
            "azure": one.have,
            "lastPut": put.get(one.path),
            "differs": True,
        }
        for one in change.changes
    ]
    changed = tuple(one.path for one in change.changes)
    rows += [
        {
            "path": path,
            "spec": value,
            "azure": azure.get(path),
            "lastPut": put.get(path),
            "differs": False,
        }
        for path, value in sent.items()
        if not path.startswith(changed)
    ]
    return rows


def _leaves(value: Any, dot: str, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value that is neither an object nor a list, with its path."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(inner, dot, f"{path}{dot}{name}" if path else name)
    elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
        for number, one in enumerate(value):
            # As differences name elements of lists in ARM's bodies.
            name = one.get("name") if dot == "/" and isinstance(one, dict) else None
            yield from _leaves(one, dot, f"{path}[{number if name is None else name}]")
    elif path:
        yield path, value
