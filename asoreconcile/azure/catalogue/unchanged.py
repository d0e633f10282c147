"""Check whether a value looks the same in two versions of its kind, as most values do.

For each pair of schemas a check is built, as far as values have needed it. The check
returns true if `projection` would return the value unchanged and keep nothing; the
value then need not be taken apart. If that is not certain, the check returns false.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from asoreconcile.azure.catalogue.defaults import IDENTITIES
from asoreconcile.azure.catalogue.field_renames import SpecPath
from asoreconcile.azure.catalogue.field_types import ANY
from asoreconcile.base.objects import JsonObject

ValueCheck = Callable[[Any], bool]
Moves = Mapping[SpecPath, Collection[str]]


def unchanged(
    own: JsonObject,
    schema: JsonObject,
    moves: Moves,
    *,
    to_stored: bool,
    at: SpecPath = (),
) -> ValueCheck:
    """Return a check for values of `own` that are to be shown under `schema`.

    moves: fields that have another name in the target.
    to_stored: if true, the target is a stored form, which allows enums in any letter
    case and has a reference in each identity.

    Safe from any thread; keeps the schemas.
    """
    here, there = _type(own), _type(schema)
    if here != there:
        return _never
    match here:
        case "any":
            return _always
        case "string":
            allowed = () if to_stored else schema.get("enum", ())
            return _one_of(frozenset(allowed)) if allowed else _is_text
        case "integer":
            return _is_whole
        case "number":
            return _is_number
        case "boolean":
            return _is_boolean
        case "array" | "map":
            # Each item gets a reference, if only an empty one: see `projection`.
            if to_stored and at[-1:] == (IDENTITIES,):
                return _never
            inner = "items" if here == "array" else "additionalProperties"

            def inside() -> ValueCheck:
                return unchanged(
                    own[inner], schema[inner], moves, to_stored=to_stored, at=at
                )

            return _list_of(inside) if here == "array" else _map_of(inside)
        case "object":
            return _fields(own, schema, moves, to_stored=to_stored, at=at)
        case _:
            return _never


def _type(schema: JsonObject) -> str:
    if schema.get(ANY):
        return "any"
    kind = str(schema.get("type", "object"))
    return "map" if kind == "object" and "additionalProperties" in schema else kind


def _fields(
    own: JsonObject, schema: JsonObject, moves: Moves, *, to_stored: bool, at: SpecPath
) -> ValueCheck:
    fields: JsonObject = own.get("properties", {})
    known: JsonObject = schema.get("properties", {})
    moved = moves.get(at, ())
    checks: dict[str, ValueCheck] = {}

    def made(name: str) -> ValueCheck:
        if name not in fields or name not in known or name in moved:
            return _never
        check = unchanged(
            fields[name], known[name], moves, to_stored=to_stored, at=(*at, name)
        )
        # Two threads may make it at once: both go on with one.
        return checks.setdefault(name, check)

    def check(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for name, given in value.items():
            if not (checks.get(name) or made(name))(given):
                return False
        return True

    return check


def _map_of(inside: Callable[[], ValueCheck]) -> ValueCheck:
    known: list[ValueCheck] = []

    def check(value: Any) -> bool:
        if type(value) is not dict:
            return False
        if value and not known:
            # Made when a value asks for it: a type may hold itself, and would never be
            # done.
            known.append(inside())
        return all(known[0](given) for given in value.values())

    return check


def _list_of(inside: Callable[[], ValueCheck]) -> ValueCheck:
    known: list[ValueCheck] = []

    def check(value: Any) -> bool:
        if type(value) is not list:
            return False
        if value and not known:
            known.append(inside())
        return all(known[0](given) for given in value)

    return check


def _one_of(allowed: frozenset[Any]) -> ValueCheck:
    return lambda value: type(value) is str and value in allowed


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_whole(value: Any) -> bool:
    # Not isinstance, to which True is a whole number, too.
    return type(value) is int


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float


def _is_boolean(value: Any) -> bool:
    return type(value) is bool


def _always(_value: Any) -> bool:
    return True


def _never(_value: Any) -> bool:
    return False
