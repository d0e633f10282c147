"""Mapping tables: how one object of a spec becomes one object of an ARM body.

Tables are data (`controllers/README.md` has the notation); this module compiles them
into tuples once. A compiled table is immutable and shared by all versions and threads.
"""

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject

Conversion = Literal[
    "value",
    "json",
    "reference",
    "well-known",
    "secret",
    "secret-map",
    "config-map",
    "identities",
    "object",
]
Path = tuple[str, ...]

_CONVERSIONS: Mapping[str, Conversion] = {
    "v": "value",
    "j": "json",
    "ref": "reference",
    "wkref": "well-known",
    "secret": "secret",
    "secretmap": "secret-map",
    "cm": "config-map",
    "uai": "identities",
}
NAME_FIELD = "$name"
_OBJECT: Conversion = "object"


class TableError(AsoreconcileError):
    """A mapping table that cannot be read; the message names table and entry."""


@attrs.frozen
class Field:
    """One field of the spec and where it goes.

    source: the field's name in the spec; `$name` is the resource's Azure name.
    path: where it goes in the ARM object.
    nesting: `[]` and `{}`, outermost first, around the conversion.
    omit_zero: "" is not sent. fallback: skipped when the path is already written.
    """

    source: str
    path: Path
    conversion: Conversion
    nesting: str = ""
    table: "Table | None" = None
    omit_zero: bool = False
    fallback: bool = False

    @property
    def is_secret(self) -> bool:
        """Whether its value is in a Secret."""
        return self.conversion in ("secret", "secret-map")

    @property
    def takes_inputs(self) -> bool:
        """True if a value of the field needs looking up: ids, Secrets, ConfigMaps."""
        if self.table is not None:
            return self.table.takes_inputs
        return self.conversion not in ("value", "json")


@attrs.frozen
class Table:
    """How one object maps.

    absent: what is sent where nothing was given, if the enclosing object is sent.
    leaves: of a union, its fields in order of preference.
    leaf_named: the leaf that is sent carries the resource's name.
    takes_inputs: something below needs a reference, Secret or ConfigMap.
    owned: ARM collections that belong to child resources and have no field.
    """

    fields: tuple[Field, ...]
    absent: tuple[tuple[Path, Any], ...] = ()
    leaves: tuple[str, ...] = ()
    leaf_named: bool = False
    takes_inputs: bool = False
    owned: tuple[str, ...] = ()


class Tables:
    """The tables of one file, compiled on first use.

    Thread-safe: two threads may compile the same table, one result stays.
    """

    def __init__(self, raw: Mapping[str, JsonObject]) -> None:
        self._raw = raw
        self._compiled: dict[str, Table] = {}

    def table(self, name: str) -> Table:
        """Raises TableError for a name or an entry nobody can read."""
        known = self._compiled.get(name)
        if known is None:
            if name not in self._raw:
                raise TableError(f"there is no mapping table {name}")
            known = self._compile(name, self._raw[name])
            known = self._compiled.setdefault(name, known)
        return known

    def forget(self) -> None:
        """Keep no compiled table: one that is asked for is compiled again."""
        self._compiled.clear()

    def _compile(self, name: str, raw: JsonObject) -> Table:
        fields = tuple(self._field(name, entry) for entry in raw["fields"])
        return Table(
            fields=fields,
            absent=tuple(
                (tuple(path.split("/")), zero)
                for path, zero in raw.get("absent", {}).items()
            ),
            leaves=tuple(raw.get("leaves", ())),
            leaf_named=raw.get("leafNamed", False),
            takes_inputs=any(field.takes_inputs for field in fields),
            owned=tuple(raw.get("owned", ())),
        )

    def _field(self, table: str, entry: str | list[str]) -> Field:
        if isinstance(entry, str):
            path = tuple(entry.split("/"))
            return Field(source=path[-1], path=path, conversion="value")
        source, target, text, *flags = entry
        kind = text.lstrip("[]{}")
        if kind.startswith("@"):
            conversion, nested = _OBJECT, self.table(kind[1:])
        elif kind in _CONVERSIONS:
            conversion, nested = _CONVERSIONS[kind], None
        else:
            raise TableError(f"table {table}, field {source}: no conversion {text!r}")
        return Field(
            source=source,
            path=tuple(target.split("/")),
            conversion=conversion,
            nesting=text[: len(text) - len(kind)],
            table=nested,
            omit_zero="omitzero" in flags,
            fallback="else" in flags,
        )
