"""Special cases that need no code of their own: the rows of `cases.json`.

The key of a row is a kind, such as `network.RouteTable`. Each of its cases names a
factory of `middleware.factories` and the factory's arguments. The first case of a point
is the outermost. A kind has either a row or a module.
"""

import re
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import cache, reduce
from importlib.resources import files
from inspect import signature
from operator import and_
from typing import Any

from asoreconcile.azure.arm.condition_error import Severity
from asoreconcile.azure.catalogue.suggestions import hint
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
    ExtensionError,
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
from asoreconcile.azure.middleware.stated_names import StatedPath, reading
from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject, dig

_Factory = Callable[..., Middleware[Any, Any]]


def sets_in(table: bytes, file: str = "cases.json") -> Iterator[ExtensionSet]:
    """Yield the extension set of each row.

    table: the text of a file. file: its name, for errors. Raises ExtensionError with
    file, row and nearest name for a row that no factory accepts.
    """
    try:
        rows = jsontext.loads(table)
        _members(rows, file)
    except jsontext.JSONDecodeError as error:
        raise ExtensionError(f"{file} is not JSON: {error}") from error
    for name, row in rows.items():
        try:
            yield _set_of(name, row)
        except (ExtensionError, ValueError, TypeError, re.error) as error:
            raise ExtensionError(f"{file}, row {name!r}: {error}") from error


def _set_of(name: str, row: JsonObject) -> ExtensionSet:
    """Return the set of one row. Raises ExtensionError, and the errors of factories."""
    group, kind = _kind_in(name)
    _require_known(_members(row, "the row"), ("about", "cases"), "member")
    made = built_in(group, kind)
    cases = row.get("cases")
    if not isinstance(cases, list):
        raise ExtensionError("`cases` must be a list of factories with arguments")
    for case in cases:
        for factory, arguments in _members(case, "a case").items():
            _members(arguments, f"the arguments of {factory}")
            _require_known((factory,), _FACTORIES, "factory")
            point, make = _FACTORIES[factory]
            _require_known(arguments, _arguments_of(make), f"argument of {factory}")
            made.on(point, defined=f"{__name__}:{name}")(make(**arguments))
    return made


def _kind_in(text: Any) -> tuple[str, str]:
    """Return group and kind. Raises ExtensionError."""
    group, dot, kind = str(text).partition(".")
    if not dot:
        raise ExtensionError(f"{text!r} must be a kind, such as network.RouteTable")
    return group, kind


def _members(value: Any, what: str) -> JsonObject:
    if not isinstance(value, dict):
        raise ExtensionError(f"{what} must be a JSON object, and is {value!r}")
    return value


def _require_known(names: Iterable[str], known: Collection[str], what: str) -> None:
    """Make sure that each name is known. Raises ExtensionError with the nearest one."""
    for name in names:
        if name not in known:
            near = hint(name, known) or f"; there are {', '.join(sorted(known))}"
            raise ExtensionError(f"there is no {what} {name!r}{near}")


def _arguments_of(make: "_Factory") -> set[str]:
    """Return the names of the arguments of a factory."""
    found = {
        name
        for name, one in signature(make).parameters.items()
        if one.kind is not one.VAR_KEYWORD
    }
    more = _FURTHER.get(make)
    if callable(more):
        found |= _arguments_of(more)
    return found | set(more if isinstance(more, Mapping) else ())


@cache
def _shapes() -> Mapping[str, Mapping[str, ChildShape]]:
    text = (files(__package__) / "children.json").read_bytes()
    shapes: Mapping[str, Mapping[str, ChildShape]] = jsontext.loads(text)["shapes"]
    return shapes


def _reclassify(
    *, severity: Severity = "Warning", **conditions: Sequence[str]
) -> Middleware[Any, Any]:
    for name, texts in conditions.items():
        if isinstance(texts, str):
            raise ExtensionError(f"{name} is the text {texts!r}, and must be a list")
    if not conditions:
        raise ExtensionError(f"reclassify needs one of {', '.join(_CONDITIONS)}")
    matches = [_CONDITIONS[name](*texts) for name, texts in conditions.items()]
    return reclassify(reduce(and_, matches), severity=severity)


def _of_owner(*, owner: str, **rest: Any) -> Middleware[Any, Any]:
    return block_unless_owner_state(built_in_kind(*_kind_in(owner)), **rest)


def _keep_children(*, shapes: str, rule: str, **rest: Any) -> Middleware[Any, Any]:
    _require_known((shapes,), _shapes(), "shape of children")
    _require_known((rule,), ChildMerge.__members__, "rule of children")
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

    if isinstance(values, str):
        raise ExtensionError(f"values is the text {values!r}, and must be a list")
    made = skip_import_if(reason, is_unwanted, before_reading=before_reading)
    return reading(made, *map(StatedPath, filter(None, (path, default))))


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
# The arguments that a factory of this module passes on.
_FURTHER: Mapping[_Factory, _Factory | Mapping[str, object]] = {
    _of_owner: block_unless_owner_state,
    _keep_children: keep_children,
    _export_keys: export_keys,
    _reclassify: _CONDITIONS,
}
