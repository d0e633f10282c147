"""One value of a custom resource as another version shows it, and what that leaves out.

The walk follows the schema of the version to come. A field it knows, of a type it can
hold, is kept under its name (or its other spelling, or what it moved to); anything else
is carried. What was carried to here takes its place again where the schema knows it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from asoreconcile.catalogue.conversion_data import (
    BAG,
    EMPTY,
    Tree,
    bag_of,
    from_bag,
    mark_of,
    opened,
    plain,
)
from asoreconcile.catalogue.field_renames import FieldRename, SpecPath
from asoreconcile.objects import JsonObject

_ANY = "x-kubernetes-preserve-unknown-fields"


@attrs.frozen
class Projection:
    """From one version's form to another's.

    moves: of a spec, the fields that have another name there.
    from_stored: the value has its property bags in it. to_stored: so will the answer.
    """

    moves: Mapping[SpecPath, Mapping[str, FieldRename]] = attrs.field(factory=dict)
    from_stored: bool = False
    to_stored: bool = False

    def project(
        self, value: Any, schema: JsonObject, tree: Tree = EMPTY, *, at: SpecPath = ()
    ) -> tuple[Any, Tree]:
        """The value under a schema, and the tree of what does not go into it.

        tree: what was kept beside the value so far. Never changes what it is given,
        and may share parts with it. The tree is empty when `to_stored`. Raises
        ConversionDataError for a property bag nobody can read.
        """
        if isinstance(value, dict) and not schema.get(_ANY):
            if "additionalProperties" in schema:
                return self._map(value, schema["additionalProperties"], tree, at)
            return self._object(value, schema, tree, at)
        if isinstance(value, list) and "items" in schema:
            return self._list(value, schema["items"], tree, at)
        return value, EMPTY

    def _object(
        self, value: JsonObject, schema: JsonObject, tree: Tree, at: SpecPath
    ) -> tuple[JsonObject, Tree]:
        known: JsonObject = schema.get("properties", {})
        made: JsonObject = {}
        kept: JsonObject = {}
        fields: dict[str, Tree] = {}
        for name, given, beside in self._sources(value, tree):
            target, moved = self._place(name, given, known, {*value, *made}, at)
            if target is None:
                kept.setdefault(name, self._whole(given, beside))
            elif target not in made:
                made[target], left = self.project(
                    moved, known[target], beside, at=(*at, target)
                )
                if left:
                    fields[target] = left
        if self.to_stored and kept:
            made[BAG] = bag_of(kept)
            kept = {}
        return made, Tree(kept=kept, fields=fields)

    def _sources(
        self, value: JsonObject, tree: Tree
    ) -> Iterator[tuple[str, Any, Tree]]:
        """Fields with what was kept beside them: those shown first, then those kept.

        What a user wrote in the version shown wins over what was kept from another.
        """
        for name, given in value.items():
            if not (self.from_stored and name == BAG):
                yield name, given, tree.fields.get(name, EMPTY)
        stored = from_bag(value.get(BAG) or {}) if self.from_stored else {}
        for name, given in {**stored, **tree.kept}.items():
            yield name, given, EMPTY

    def _whole(self, given: Any, beside: Tree) -> Any:
        return opened(given) if self.from_stored else beside.whole(given)

    def _place(
        self,
        name: str,
        given: Any,
        known: JsonObject,
        taken: set[str],
        at: SpecPath,
    ) -> tuple[str | None, Any]:
        """Where a field goes and what of it; None where it cannot be shown."""
        if name in known:
            return (name, given) if fits(known[name], given) else (None, given)
        move = self.moves.get(at, {}).get(name)
        if move is not None and move.target in known:
            moved = move.apply(given)
            if moved is not None:
                return move.target, moved
        spelt = plain(name)
        for other in known:
            same = plain(other) == spelt and other not in taken
            if same and fits(known[other], given):
                return other, given
        return None, given

    def _map(
        self, value: JsonObject, schema: JsonObject, tree: Tree, at: SpecPath
    ) -> tuple[JsonObject, Tree]:
        made: JsonObject = {}
        fields: dict[str, Tree] = {}
        for key, given in value.items():
            beside = tree.fields.get(key, EMPTY)
            made[key], left = self.project(given, schema, beside, at=at)
            if left:
                fields[key] = left
        return made, Tree(fields=fields)

    def _list(
        self, value: list[Any], schema: JsonObject, tree: Tree, at: SpecPath
    ) -> tuple[list[Any], Tree]:
        beside = tree.of_items(value)
        projected = [
            self.project(item, schema, kept, at=at)
            for item, kept in zip(value, beside, strict=True)
        ]
        made = [item for item, _ in projected]
        items = tuple(
            (index, mark_of(item), left)
            for index, (item, left) in enumerate(projected)
            if left
        )
        return made, Tree(length=len(made) if items else 0, items=items)


def fits(schema: JsonObject, value: Any) -> bool:
    """Whether a schema's types can hold a value; constraints are not looked at.

    Fields of an object that it does not know do not matter: they are carried.
    """
    if value is None or schema.get(_ANY):
        return True
    match schema.get("type", "object"):
        case "object" if isinstance(value, dict):
            inner = schema.get("additionalProperties")
            return inner is None or all(fits(inner, v) for v in value.values())
        case "array" if isinstance(value, list):
            return all(fits(schema["items"], item) for item in value)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "integer":
            whole = isinstance(value, float) and value.is_integer()
            return whole or (isinstance(value, int) and not isinstance(value, bool))
        case _:
            return False
