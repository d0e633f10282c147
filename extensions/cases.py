"""Special cases that need no code of their own: the rows of `cases.json`.

The key of a row is a kind, such as `network.RouteTable`. Each of its cases names a
factory of `middleware.factories` and the factory's arguments. The first case of a point
is the outermost. A kind has either a row or a module.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, reduce
from importlib.resources import files
from operator import and_
from typing import Any

from asoreconcile.azure.arm.condition_error import Severity
from asoreconcile.azure.middleware.extension_points import (
    CLASSIFY_ERROR,
    EXPORT_SECRETS,
    IMPORT,
    MODIFY_PAYLOAD,
    PRE_RECONCILE,
    PRE_RECONCILE_OWNER,
    ExtensionPoint,
    Middleware,
)
from asoreconcile.azure.middleware.extension_set import (
    ExtensionSet,
    built_in,
    built_in_kind,
)
from asoreconcile.azure.middleware.factories import (
    ChildMerge,
    ChildShape,
    ErrorMatch,
    block_if_state,
    block_unless_owner_state,
    block_unless_state,
    code,
    export_keys,
    export_status,
    keep_children,
    message_contains,
    message_matches,
    reclassify,
    skip_import_if,
)
from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject, dig

_Factory = Callable[..., Middleware[Any, Any]]


def sets_in(table: bytes) -> Iterator[ExtensionSet]:
    """Yield the extension set of each row. Raises KeyError for an unknown factory, and
    TypeError for arguments that the factory does not take.
    """
    for name, row in jsontext.loads(table).items():
        made = built_in(*name.split("."))
        for case in row["cases"]:
            for factory, arguments in case.items():
                point, make = _FACTORIES[factory]
                made.on(point, defined=f"{__name__}:{name}")(make(**arguments))
        yield made


@cache
def _shapes() -> Mapping[str, Mapping[str, ChildShape]]:
    text = (files(__package__) / "children.json").read_bytes()
    shapes: Mapping[str, Mapping[str, ChildShape]] = jsontext.loads(text)["shapes"]
    return shapes


def _reclassify(
    *, severity: Severity = "Warning", **conditions: Sequence[str]
) -> Middleware[Any, Any]:
    matches = [_CONDITIONS[name](*texts) for name, texts in conditions.items()]
    return reclassify(reduce(and_, matches), severity=severity)


def _of_owner(*, owner: str, **rest: Any) -> Middleware[Any, Any]:
    return block_unless_owner_state(built_in_kind(*owner.split(".")), **rest)


def _keep_children(*, shapes: str, rule: str, **rest: Any) -> Middleware[Any, Any]:
    return keep_children(shapes=_shapes()[shapes], rule=ChildMerge[rule], **rest)


def _export_keys(
    *, keys: Mapping[str, str] | Sequence[str], **rest: Any
) -> Middleware[Any, Any]:
    """Return an exporter of keys.

    keys: place in the answer by the name of the key; a list names keys that have the
    same name in the answer.
    """
    named = keys if isinstance(keys, Mapping) else {name: name for name in keys}
    return export_keys(keys=named, **rest)


def _skip_import(
    *,
    reason: str,
    path: str,
    values: Sequence[str] = (),
    default: str = "",
    exact_case: bool = False,
    before_reading: bool = False,
) -> Middleware[Any, Any]:
    """Return an importer that leaves out objects with one of the values at a path, or
    with the same value there as at the path `default`.
    """

    def is_unwanted(obj: JsonObject, _owner_id: str) -> bool:
        found = dig(obj, path)
        if default:
            return found is not None and bool(found == dig(obj, default))
        return (str(found) if exact_case else str(found).lower()) in values

    return skip_import_if(reason, is_unwanted, before_reading=before_reading)


_CONDITIONS: Mapping[str, Callable[..., ErrorMatch]] = {
    "code": code,
    "message_contains": message_contains,
    "message_matches": message_matches,
}
_FACTORIES: Mapping[str, tuple[ExtensionPoint[Any, Any], _Factory]] = {
    "block_if_state": (PRE_RECONCILE, block_if_state),
    "block_unless_owner_state": (PRE_RECONCILE_OWNER, _of_owner),
    "block_unless_state": (PRE_RECONCILE, block_unless_state),
    "export_keys": (EXPORT_SECRETS, _export_keys),
    "export_status": (EXPORT_SECRETS, export_status),
    "keep_children": (MODIFY_PAYLOAD, _keep_children),
    "reclassify": (CLASSIFY_ERROR, _reclassify),
    "skip_import": (IMPORT, _skip_import),
}
