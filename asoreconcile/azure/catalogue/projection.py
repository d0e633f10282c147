"""Show one value of a custom resource in another version, and collect what is left out.

The walk follows the schema of the target version. A field that the target knows, with a
type that the target can hold, keeps its name (or gets its new name). Any other field is
carried in the conversion data. Carried values are put back if the target schema has a
field for them.

Names that differ only in letter case are different fields of a stored object, as in
ASO. When a manifest is rewritten in another version, such names are spellings of one
field. Enum values are shown in the letter case of the target version.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from asoreconcile.azure.catalogue.casts import (
    Cast,
    as_written,
    cast,
    in_newer_shape,
    is_cast,
)
from asoreconcile.azure.catalogue.conversion_data import EMPTY, Tree, item_mark, plain
from asoreconcile.azure.catalogue.defaults import IDENTITIES, with_reference
from asoreconcile.azure.catalogue.field_renames import FieldRename, SpecPath
from asoreconcile.azure.catalogue.field_types import ANY, fits, is_key_reference
from asoreconcile.azure.catalogue.property_bag import (
    BAG,
    ConversionDataError,
    entries,
    entry_name,
    is_string,
    read_entry,
    write_entry,
)
from asoreconcile.azure.catalogue.unchanged import ValueCheck, unchanged
from asoreconcile.base.objects import JsonObject

_JSON: JsonObject = {ANY: True}


@attrs.frozen
class Projection:
    """Converts values from one version's form to another's.

    moves: the fields of a spec that have another name in the target.
    from_stored: if true, the values contain property bags.
    to_stored: if true, the results contain property bags.
    lenient: if true, a bag entry that cannot be read stays in the bag, and a value of
    another type is carried like an unknown field. If false, both are errors, except for
    a text in a field that names a Secret's key: older releases took the secret itself.

    Safe from any thread. Keep a projection: it caches the parts in which two schemas
    are alike.
    """

    moves: Mapping[SpecPath, Mapping[str, FieldRename]] = attrs.field(factory=dict)
    from_stored: bool = False
    to_stored: bool = False
    lenient: bool = False
    _checks: "dict[tuple[int, int, SpecPath], _Checked]" = attrs.field(
        factory=dict, init=False, repr=False, eq=False
    )

    def project(
        self,
        value: Any,
        schema: JsonObject,
        own: JsonObject,
        tree: Tree = EMPTY,
        *,
        at: SpecPath = (),
    ) -> tuple[Any, Tree]:
        """Return the value under a schema, and the tree of values that do not fit.

        own: the schema of the value's version; {} if unknown.
        tree: the values that were kept for this value so far.

        Never changes its arguments, and may share parts with them. The tree is empty if
        `to_stored`. Raises ConversionDataError for a property bag that cannot be read.
        """
        if own and not tree and self._stays(value, schema, own, at):
            return value, EMPTY
        if isinstance(value, dict) and not schema.get(ANY):
            if "additionalProperties" in schema:
                return self._map(value, schema, own, tree, at)
            return self._object(value, schema, own, tree, at)
        if isinstance(value, list) and "items" in schema:
            return self._list(value, schema, own, tree, at)
        if isinstance(value, str) and not self.to_stored:
            return _in_case(value, schema), EMPTY
        return (tree.whole(value) if tree else value), EMPTY

    def _stays(
        self, value: Any, schema: JsonObject, own: JsonObject, at: SpecPath
    ) -> bool:
        """Return whether the value stays as it is, which is the usual case: see
        `unchanged`.
        """
        # Schemas are large and shared, so that their ids stand for them; `_Checked`
        # keeps them alive, or an id could be given to another.
        key = (id(own), id(schema), at)
        known = self._checks.get(key)
        if known is None:
            check = unchanged(own, schema, self.moves, to_stored=self.to_stored, at=at)
            known = self._checks.setdefault(key, _Checked(check, own, schema))
        return known.check(value)

    def _object(
        self,
        value: JsonObject,
        schema: JsonObject,
        own: JsonObject,
        tree: Tree,
        at: SpecPath,
    ) -> tuple[JsonObject, Tree]:
        """Convert an object. A value that the user wrote wins over a kept one."""
        known: JsonObject = schema.get("properties", {})
        fields: JsonObject = own.get("properties", {})
        entered = {**(entries(value) if self.from_stored else {}), **tree.bag}
        made: JsonObject = {}
        kept: JsonObject = {}
        bag: JsonObject = {}
        trees: dict[str, Tree] = {}
        for name, given, beside, by in self._sources(value, tree):
            field = fields.get(name) if by is self else None
            done = None
            if field is not None and name in known and is_cast(field, known[name]):
                entry = as_written(entry_name(name))
                done = self._cast(given, field, known[name], (entry, entered, bag))
            if done is not None:
                made[name] = done.value
                continue
            target, moved = self._place(name, given, known, (value, made), at)
            if target is None:
                self._keep(name, beside.whole(given), field, kept, bag)
                continue
            move = self.moves.get(at, {}).get(name) if target != name else None
            if move is not None:
                if self.to_stored and move.keeps_name:
                    bag[entry_name(name)] = write_entry(given, field)
                if not move.says_all(given):
                    self._keep(name, given, field, kept, bag)
                if move.to_reference:
                    moved = move.merged(moved, self._kept(target, known, tree, entered))
            if target not in made:
                made[target], left = by.project(
                    moved, known[target], field or {}, beside, at=(*at, target)
                )
                if left:
                    trees[target] = left
        ids = {m.target for m in self.moves.get(at, {}).values() if not m.to_reference}
        for name, text in entered.items():
            target = _field_of(name, known)
            found = None
            # The references say which ids there are, since when they were edited.
            stale = target in ids and target not in fields
            if target is not None and target not in made and not stale:
                found = self._read(name, text, known[target])
            if found is not None and target is not None:
                made[target], left = self._of_stored().project(
                    found.value, known[target], known[target], at=(*at, target)
                )
                if left:
                    trees[target] = left
            elif target is None or target not in made:
                # An entry that neither version knows is carried along as text.
                bag.setdefault(name, text)
        if self.to_stored and bag:
            made[BAG] = bag
            bag = {}
        return made, Tree(kept=kept, bag=bag, fields=trees)

    def _cast(
        self,
        given: Any,
        own: JsonObject,
        schema: JsonObject,
        beside: tuple[str, JsonObject, JsonObject],
    ) -> Cast | None:
        """Return the value cast to the other type, and update the entries of the two
        bags.

        beside: name of the bag entry, the bag that was read, and the bag that is made.
        """
        entry, entered, bag = beside
        written = self._read(entry, entered[entry], _JSON) if entry in entered else None
        done = cast(given, own, schema, written.value if written else None)
        if done is not None:
            entered.pop(entry, None)
            if done.left is not None:
                bag[entry] = write_entry(done.left, _JSON)
        return done

    def _kept(
        self, target: str, known: JsonObject, tree: Tree, entered: JsonObject
    ) -> Any:
        """Return the value kept under the new name of a field; None if there is
        none.
        """
        if target in tree.kept:
            return tree.kept[target]
        text = entered.get(entry_name(target))
        found = self._read(target, text, known[target]) if text is not None else None
        return found.value if found else None

    def _sources(
        self, value: JsonObject, tree: Tree
    ) -> "Iterator[tuple[str, Any, Tree, Projection]]":
        """Yield each field with its kept values and the projection that reads it.

        Fields that are shown come first, then kept fields, which are stored values.
        """
        for name, given in value.items():
            if not (self.from_stored and name == BAG):
                yield name, given, tree.fields.get(name, EMPTY), self
        for name, given in tree.kept.items():
            yield name, given, EMPTY, self._of_stored()

    def _of_stored(self) -> "Projection":
        return self if self.from_stored else attrs.evolve(self, from_stored=True)

    def _keep(
        self,
        name: str,
        value: Any,
        field: JsonObject | None,
        kept: JsonObject,
        bag: JsonObject,
    ) -> None:
        """Keep a value that cannot be shown, in a place that preserves its type."""
        quoted = field is not None and isinstance(value, str) and not is_string(field)
        if self.to_stored or quoted:
            key = entry_name(name)
            bag[name if key in bag else key] = write_entry(value, field)
        else:
            kept.setdefault(name, value)

    def _read(self, name: str, text: Any, schema: JsonObject) -> "_Read | None":
        try:
            value = in_newer_shape(schema, read_entry(name, text, schema))
            if not self._holds(schema, value):
                raise ConversionDataError(f"{name} in a {BAG} is of another type")
        except ConversionDataError:
            if self.lenient:
                return None
            raise
        return _Read(value)

    def _holds(self, schema: JsonObject, value: Any) -> bool:
        """Return whether a field of the result may hold a value."""
        if fits(schema, value):
            return True
        # The API server refuses such a text; the reconciler and `asoctl` read it.
        is_read = not self.lenient and not self.to_stored
        return is_read and isinstance(value, str) and is_key_reference(schema)

    def _place(
        self,
        name: str,
        given: Any,
        known: JsonObject,
        taken: tuple[JsonObject, JsonObject],
        at: SpecPath,
    ) -> tuple[str | None, Any]:
        """Return the target name of a field and its value there; None if it cannot be
        shown.
        """
        if name in known:
            shown = in_newer_shape(known[name], given)
            if self._holds(known[name], shown):
                return name, shown
            if not self.lenient and not self.to_stored:
                path = ".".join((*at, name))
                raise ConversionDataError(f"{path} is of another type")
            return None, given
        move = self.moves.get(at, {}).get(name)
        if move is not None and move.target in known:
            moved = move.apply(given)
            if moved is not None:
                return move.target, moved
        # As for ASO: there, names that differ in case are different fields.
        if self.from_stored or self.to_stored:
            return None, given
        spelt = plain(name)
        for other in known:
            same = plain(other) == spelt and not any(other in t for t in taken)
            if same and fits(known[other], given):
                return other, given
        return None, given

    def _map(
        self,
        value: JsonObject,
        schema: JsonObject,
        own: JsonObject,
        tree: Tree,
        at: SpecPath,
    ) -> tuple[JsonObject, Tree]:
        inner, of = schema["additionalProperties"], own.get("additionalProperties", {})
        made: JsonObject = {}
        fields: dict[str, Tree] = {}
        for key, given in value.items():
            beside = tree.fields.get(key, EMPTY)
            made[key], left = self.project(given, inner, of, beside, at=at)
            if left:
                fields[key] = left
        return made, Tree(fields=fields)

    def _list(
        self,
        value: list[Any],
        schema: JsonObject,
        own: JsonObject,
        tree: Tree,
        at: SpecPath,
    ) -> tuple[list[Any], Tree]:
        inner, of = schema["items"], own.get("items", {})
        beside = tree.of_items(value)
        projected = [
            self.project(item, inner, of, kept, at=at)
            for item, kept in zip(value, beside, strict=True)
        ]
        made = [item for item, _ in projected]
        if (
            self.to_stored
            # ASO's struct always has the field: our stored form is to be alike.
            and at[-1:] == (IDENTITIES,)
            and "reference" in _fields(inner)
        ):
            made = [with_reference(item) for item in made]
        items = tuple(
            (index, item_mark(item), left)
            for index, (item, left) in enumerate(projected)
            if left
        )
        return made, Tree(length=len(made) if items else 0, items=items)


@attrs.frozen
class _Checked:
    """A check for two schemas, which it keeps alive: checks are found by the schemas'
    ids.
    """

    check: ValueCheck
    own: JsonObject
    schema: JsonObject


@attrs.frozen
class _Read:
    """The value of a bag entry, which may be null."""

    value: Any


def _field_of(entry: str, known: JsonObject) -> str | None:
    """Return the version's field that a bag entry belongs to."""
    same = (name for name in known if entry in (name, entry_name(name)))
    return next(same, None)


def _fields(schema: JsonObject) -> JsonObject:
    fields: JsonObject = schema.get("properties", {})
    return fields


def _in_case(value: str, schema: JsonObject) -> str:
    """Return an enum value in the letter case of the target version."""
    allowed = schema.get("enum") or ()
    if value in allowed:
        return value
    same = (one for one in allowed if str(one).lower() == value.lower())
    return next(same, value)
